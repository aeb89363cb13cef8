import { watched, ways } from "../load/probes.ts"
import type { Sent } from "../load/sides/flood-side.ts"
import type { FloodFigure, FloodResults } from "../results.ts"
import { atMost, type Goal } from "./goals.ts"
import { count, factsText, mebibytes, short, table } from "./markdown.ts"

/** Returns the tables of `make flood`. */
export function floodReport(results: FloodResults): string {
  const { facts, memoryMib, seconds, times, offered, sustainable, floods } = results
  const memory = memoryMib === undefined ? "" : ` The service has ${memoryMib} MiB of memory.`
  return [
    factsText(facts),
    `${times} times the calls that the service can answer through the pipeline (${count(sustainable)} a second), that is ` +
      `${count(offered)} a second for ${seconds} seconds over 20 connections, independently of the responses. Senders, service and ` +
      "MySQL share the two cores. Because of the flow control of HTTP/2 and TCP, a sender cannot send calls that the " +
      `service does not read: the table counts them as not sent.${memory}`,
    ...floods.flatMap(figureText),
  ].join("\n\n")
}

function figureText(flood: FloodFigure): string[] {
  const { isKeyKnown, sent, seen, serverCpu, quietBytes, mostBytes } = flood
  return [
    `**The key of the senders is ${isKeyKnown ? "valid" : "unknown"}.** The service used ${Math.round(100 * serverCpu)} % of a ` +
      `core. Its memory: ${mebibytes(quietBytes)} before, ${mebibytes(mostBytes)} at the peak.`,
    table(
      ["", ...sentColumns.map(([title]) => title)],
      ways.map((way) => [way, ...sentColumns.map(([, of]) => of(sent[way]))]),
    ),
    "At the same time, an application with another key makes 100 calls a second, a third of them over each transport, and " +
      "a client checks the health, each time over a new connection. Durations in milliseconds:",
    table(
      ["", "before: p50", "p99", "during: p50", "p99", "p99, ratio", "worst", "rejected", "failed", "recovered after"],
      watched.map((what) => {
        const { quietP50, quietP99, p50, p99, worst, rejected, failed, backAfter } = seen[what]
        const times = [quietP50, quietP99, p50, p99, p99 / quietP99, worst].map(short)
        return [what, ...times, count(rejected), count(failed), backAfter === null ? "" : `${backAfter} s`]
      }),
    ),
  ]
}

/** Returns the goals for the effects of a flood on other clients, and for what remains after it. */
export function floodGoals({ seen, quietBytes, mostBytes }: FloodFigure): Goal[] {
  const back = watched.map((what) => seen[what].backAfter ?? Number.POSITIVE_INFINITY)
  const unanswered = watched.reduce((sum, what) => sum + seen[what].rejected + seen[what].failed, 0)
  return [
    ...ways.map((way) => atMost(`${way}: p99 of the application's calls, ms`, 250, seen[way].p99)),
    ...(["gRPC health", "/healthz"] as const).map((what) =>
      atMost(`${what}: the slowest health check, ms`, 1_000, seen[what].worst),
    ),
    atMost("the application's calls and health checks that were rejected or failed", 0, unanswered),
    atMost("seconds until all durations are as before the flood", 2, Math.max(...back)),
    atMost("peak memory of the service, relative to before the flood", 1.25, mostBytes / quietBytes),
  ]
}

const sentColumns: [string, (sent: Sent) => string][] = [
  ["offered", ({ offered }) => count(offered)],
  ["not sent", ({ offered, sent }) => count(offered - sent)],
  ["answered", ({ ok }) => count(ok)],
  ["rejected", ({ rejected }) => count(rejected)],
  ["other outcome", ({ other }) => count(other)],
]
