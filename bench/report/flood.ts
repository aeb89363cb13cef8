import type { Probe } from "../load/probe-side.ts"
import { percentile } from "../load/statistics.ts"
import { type Sent, ways } from "../load/ways.ts"
import type { FloodResults } from "../results.ts"
import { count, mebibytes, table } from "./markdown.ts"
import { factsText } from "./wire.ts"

const watched: readonly Probe[0][] = ["pipeline", "unary", "connect", "gRPC health", "/healthz"]

/** The tables of `make flood`. */
export function floodReport(results: FloodResults): string {
  const { facts, seconds, times, pinned, offered, sustainable, sent, rss, unloaded, during, after } = results
  const cores = pinned ? " The server has a core of its own, the senders another one, MySQL both." : ""
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
    "An application beside it, which calls 50 times a second by each way, and somebody who asks for health over a new " +
      "connection each time, in milliseconds:",
    table(
      [
        "",
        "before: p99",
        "during: p50",
        "p99",
        "worst",
        "times the p99 before",
        "refused",
        "failed",
        "p99 is back after",
      ],
      watched.map((what) => {
        const quiet = timesOf(unloaded, what)
        const loaded = timesOf(during, what)
        const of = (end: Probe[3]) => during.filter((probe) => probe[0] === what && probe[3] === end).length
        const all = during.filter((probe) => probe[0] === what).length
        return [
          what,
          ms(percentile(quiet, 0.99)),
          ms(percentile(loaded, 0.5)),
          ms(percentile(loaded, 0.99)),
          ms(loaded.at(-1) ?? 0),
          (percentile(loaded, 0.99) / percentile(quiet, 0.99)).toFixed(1),
          `${Math.round((100 * of("refused")) / all)} %`,
          count(of("failed")),
          `${recovery(after, what, percentile(quiet, 0.99))} s`,
        ]
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
  ["p50, ms", ({ okP50 }) => ms(okP50)],
  ["p99, ms", ({ okP99 }) => ms(okP99)],
  ["refused", ({ overloaded }) => count(overloaded)],
  ["p50, ms", ({ refusedP50 }) => ms(refusedP50)],
  ["p99, ms", ({ refusedP99 }) => ms(refusedP99)],
  ["otherwise ended", ({ other }) => count(other)],
]

function timesOf(probes: readonly Probe[], what: Probe[0]): Float64Array {
  return Float64Array.from(probes.filter(([one, , , end]) => one === what && end === "ok").map(([, , ms]) => ms)).sort()
}

/** After how many seconds the p99 of half a second is that of before, twice at the most, and stays so. */
function recovery(after: readonly Probe[], what: Probe[0], p99: number): string {
  const slow = after.filter(([one, , ms, end]) => one === what && (end !== "ok" || ms > 2 * p99))
  return (Math.max(0, ...slow.map(([, at, ms]) => at + ms)) / 1000).toFixed(1)
}

function ms(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0)
}
