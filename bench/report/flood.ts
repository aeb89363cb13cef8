import { watched, ways } from "../load/probes.ts"
import type { Sent } from "../load/sides/flood-side.ts"
import type { FloodFigure, FloodResults } from "../results.ts"
import { atMost, type Goal, goalsTable } from "./goals.ts"
import { count, factsText, mebibytes, short, table } from "./markdown.ts"

/** Returns the tables of `make flood`. */
export function floodReport(results: FloodResults): string {
  const { facts, memoryMib, seconds, times, offered, sustainable, floods } = results
  const memory = memoryMib === undefined ? "" : ` The service has ${memoryMib} MiB of memory.`
  return [
    factsText(facts),
    `${times} times the calls that the service can answer through the pipeline (${count(sustainable)} a second), that is ` +
      `${count(offered)} a second for ${seconds} seconds over 20 connections, whatever is answered. Senders, service and ` +
      "MySQL share the two cores. What the service does not read stays with the sender, as HTTP/2 and TCP have it: those " +
      `calls are held back.${memory}`,
    ...floods.flatMap(figureText),
  ].join("\n\n")
}

function figureText(flood: FloodFigure): string[] {
  const { isKeyKnown, sent, seen, serverCpu, quietBytes, mostBytes } = flood
  return [
    `**The key of the senders is ${isKeyKnown ? "valid" : "unknown"}.** The service had ${Math.round(100 * serverCpu)} % of a ` +
      `core. Its memory: ${mebibytes(quietBytes)} before, ${mebibytes(mostBytes)} at the most.`,
    table(
      ["", ...sentColumns.map(([title]) => title)],
      ways.map((way) => [way, ...sentColumns.map(([, of]) => of(sent[way]))]),
    ),
    "An application with another key beside it, which makes 100 calls a second, a third of them each way, and somebody who " +
      "asks for health over a new connection each time, in milliseconds:",
    table(
      ["", "before: p50", "p99", "during: p50", "p99", "p99, ratio", "worst", "rejected", "failed", "as before after"],
      watched.map((what) => {
        const { quietP50, quietP99, p50, p99, worst, rejected, failed, backAfter } = seen[what]
        const times = [quietP50, quietP99, p50, p99, p99 / quietP99, worst].map(short)
        return [what, ...times, count(rejected), count(failed), backAfter === null ? "" : `${backAfter} s`]
      }),
    ),
    goalsTable(floodGoals(flood)),
  ]
}

/** Returns the goals for the effects of a flood on other clients, and for what remains after it. */
export function floodGoals({ seen, quietBytes, mostBytes }: FloodFigure): Goal[] {
  const back = watched.map((what) => seen[what].backAfter ?? Number.POSITIVE_INFINITY)
  const unanswered = watched.reduce((sum, what) => sum + seen[what].rejected + seen[what].failed, 0)
  return [
    ...ways.map((way) => atMost(`${way}: p99 of the application's calls, ms`, 250, seen[way].p99)),
    ...(["gRPC health", "/healthz"] as const).map((what) =>
      atMost(`${what}: the longest wait, ms`, 1_000, seen[what].worst),
    ),
    atMost("its calls and questions that were rejected or failed", 0, unanswered),
    atMost("all is as before after so many seconds", 2, Math.max(...back)),
    atMost("memory of the service at the most, to that before", 1.25, mostBytes / quietBytes),
  ]
}

const sentColumns: [string, (sent: Sent) => string][] = [
  ["offered", ({ offered }) => count(offered)],
  ["held back", ({ offered, sent }) => count(offered - sent)],
  ["answered", ({ ok }) => count(ok)],
  ["p50, ms", ({ okP50 }) => short(okP50)],
  ["p99, ms", ({ okP99 }) => short(okP99)],
  ["rejected", ({ rejected }) => count(rejected)],
  ["p50, ms", ({ rejectedP50 }) => short(rejectedP50)],
  ["p99, ms", ({ rejectedP99 }) => short(rejectedP99)],
  ["otherwise ended", ({ other }) => count(other)],
]
