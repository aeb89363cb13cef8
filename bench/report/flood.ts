import type { Sent } from "../load/flood-side.ts"
import { watched, ways } from "../load/probes.ts"
import type { FloodResults } from "../results.ts"
import { atMost, type Goal, goalsTable, growth } from "./goals.ts"
import { count, factsText, mebibytes, short, table } from "./markdown.ts"

/** The tables of `make flood`. */
export function floodReport(results: FloodResults): string {
  const { facts, seconds, times, pinned, offered, sustainable, sent, rss, seen } = results
  const cores = pinned
    ? " The thread of the server that answers has a core of its own, the senders the other one; MySQL, and what collects garbage, both."
    : ""
  const most = Math.max(...rss.map(({ bytes }) => bytes))
  const last = rss.at(-1)?.bytes ?? 0
  return [
    factsText(facts),
    `${times} times the calls that the service can answer through the pipeline (${count(sustainable)} a second), that is ` +
      `${count(offered)} a second for ${seconds} seconds, whatever is answered.${cores} What the service does not read ` +
      "stays with the sender, as HTTP/2 and TCP have it: those calls are held back.",
    table(
      ["", ...sentColumns.map(([title]) => title)],
      ways.map((way) => [way, ...sentColumns.map(([, of]) => of(sent[way]))]),
    ),
    goalsTable(floodGoals(results)),
    "An application beside it, which calls 50 times a second by each way, and somebody who asks for health over a new " +
      "connection each time, in milliseconds:",
    table(
      ["", "before: p50", "p99", "during: p50", "p99", "p99, ratio", "worst", "rejected", "failed", "as before after"],
      watched.map((what) => {
        const { quietP50, quietP99, count: all, p50, p99, worst, rejected, failed, backAfter } = seen[what]
        const times = [quietP50, quietP99, p50, p99, p99 / quietP99, worst].map(short)
        const share = `${Math.round((100 * rejected) / all)} %`
        return [what, ...times, share, count(failed), backAfter === null ? "" : `${backAfter} s`]
      }),
    ),
    `The server had ${Math.round(100 * results.serverCpu)} % of a core. Its memory: ${mebibytes(rss[0]?.bytes ?? 0)} after a second, ${mebibytes(most)} at the most, ` +
      `${mebibytes(last)} five seconds after the end.`,
  ].join("\n\n")
}

/** The goals about what others see of a flood, and what it leaves. */
export function floodGoals({ seen, rss, seconds }: FloodResults): Goal[] {
  const during = rss.filter((sample) => sample.seconds <= seconds)
  const back = watched.map((what) => seen[what].backAfter ?? Number.POSITIVE_INFINITY)
  const failed = watched.reduce((sum, what) => sum + seen[what].failed, 0)
  return [
    ...ways.map((way) =>
      atMost(`p99 of the calls let in, times that before, ${way}`, 10, seen[way].p99 / seen[way].quietP99),
    ),
    ...(["gRPC health", "/healthz"] as const).map((what) =>
      atMost(`${what}: the longest wait, seconds`, 1, seen[what].worst / 1000),
    ),
    atMost("calls and questions beside it that failed otherwise", 0, failed),
    atMost("all is as before after so many seconds", 2, Math.max(...back)),
    atMost(
      "memory of the server, last third to first third after warm-up",
      1.1,
      growth(during.map(({ bytes }) => bytes)),
    ),
  ]
}

const sentColumns: [string, (sent: Sent) => string][] = [
  ["offered", ({ offered }) => count(offered)],
  ["held back", ({ offered, sent }) => count(offered - sent)],
  ["answered", ({ ok }) => count(ok)],
  ["p50, ms", ({ okP50 }) => short(okP50)],
  ["p99, ms", ({ okP99 }) => short(okP99)],
  ["rejected", ({ overloaded }) => count(overloaded)],
  ["p50, ms", ({ rejectedP50 }) => short(rejectedP50)],
  ["p99, ms", ({ rejectedP99 }) => short(rejectedP99)],
  ["otherwise ended", ({ other }) => count(other)],
]
