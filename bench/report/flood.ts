import { watched } from "../load/probes.ts"
import { type Sent, ways } from "../load/ways.ts"
import type { FloodResults } from "../results.ts"
import { floodGoals } from "./goals.ts"
import { count, mebibytes, short, table } from "./markdown.ts"
import { factsText, goalsTable } from "./wire.ts"

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
    `${times} times the calls that the service can answer through the pipeline (${count(sustainable.pipeline)} a second; ` +
      `${count(sustainable.unary)} as calls of their own, ${count(sustainable.connect)} by Connect), that is ` +
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
      ["", "before: p50", "p99", "during: p50", "p99", "worst", "rejected", "failed", "as before after"],
      watched.map((what) => {
        const { quietP50, quietP99, count: all, p50, p99, worst, rejected, failed, backAfter } = seen[what]
        const times = [quietP50, quietP99, p50, p99, worst].map(short)
        const share = `${Math.round((100 * rejected) / all)} %`
        return [what, ...times, share, count(failed), backAfter === null ? "" : `${backAfter} s`]
      }),
    ),
    `The server had ${Math.round(100 * results.serverCpu)} % of a core. Its memory: ${mebibytes(rss[0]?.bytes ?? 0)} after a second, ${mebibytes(most)} at the most, ` +
      `${mebibytes(last)} five seconds after the end.`,
  ].join("\n\n")
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
