import { openTimes } from "./statistics.ts"

/** How calls are sent. */
export const ways = ["pipeline", "unary", "connect"] as const

export type Way = (typeof ways)[number]

/** What is watched beside a flood: calls by each way, and health. */
export const watched = [...ways, "gRPC health", "/healthz"] as const

export type Watched = (typeof watched)[number]

/** A call or a question: what, when it began (milliseconds since 1970), how many it took, and how it ended. */
export type Probe = [what: Watched, at: number, ms: number, end: "ok" | "rejected" | "failed"]

/** What was seen of one of them. Times are milliseconds, of what was not rejected and did not fail. */
export interface Seen {
  /** Before the flood. */
  quietP50: number
  quietP99: number
  /** During it. */
  count: number
  p50: number
  p99: number
  worst: number
  rejected: number
  failed: number
  /** Seconds from its end to the end of the first half second in which all is as before; null if there was none. */
  backAfter: number | null
}

const windowMs = 500

/** @param end when the flood ended, in milliseconds since 1970. */
export function seen(what: Watched, quiet: readonly Probe[], later: readonly Probe[], end: number): Seen {
  const mine = later.filter(([one]) => one === what)
  const during = mine.filter(([, at]) => at < end)
  const after = mine.filter(([, at]) => at >= end)
  const before = timesOf(quiet.filter(([one]) => one === what))
  const times = timesOf(during)
  const quietP99 = before.percentile(99)
  const count = (how: Probe[3]) => during.filter(([, , , ended]) => ended === how).length
  const last = Math.max(...after.map(([, at]) => at - end))
  let backAfter: number | null = null
  for (let start = 0; start + windowMs <= last && backAfter === null; start += windowMs / 2) {
    const window = after.filter(([, at]) => at - end >= start && at - end < start + windowMs)
    const asBefore = window.length > 0 && window.every(([, , ms, ended]) => ended === "ok" && ms <= quietP99)
    if (asBefore) backAfter = (start + windowMs) / 1000
  }
  return {
    ...{ quietP50: before.percentile(50), quietP99, count: during.length },
    ...{ p50: times.percentile(50), p99: times.percentile(99), worst: times.percentile(100) },
    ...{ rejected: count("rejected"), failed: count("failed"), backAfter },
  }
}

function timesOf(probes: readonly Probe[]) {
  return openTimes(probes.filter(([, , , end]) => end === "ok").map(([, , ms]) => ms))
}
