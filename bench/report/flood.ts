import { watched, ways } from "../load/probes.ts"
import type { Sent } from "../load/sides/flood-side.ts"
import type { FloodFigure, FloodResults } from "../results.ts"
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

const sentColumns: [string, (sent: Sent) => string][] = [
  ["offered", ({ offered }) => count(offered)],
  ["not sent", ({ offered, sent }) => count(offered - sent)],
  ["answered", ({ ok }) => count(ok)],
  ["rejected", ({ rejected }) => count(rejected)],
  ["other outcome", ({ other }) => count(other)],
]
