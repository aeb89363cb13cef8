import { openTimes } from "./statistics.ts"

/** The ways in which calls are sent. */
export const ways = ["pipeline", "unary", "connect"] as const

export type Way = (typeof ways)[number]

/** The series that are measured during a flood: calls by each way, and health checks. */
export const watched = [...ways, "gRPC health", "/healthz"] as const

export type Watched = (typeof watched)[number]

/**
 * One call or health check: its series, its start (milliseconds since 1970), its duration in milliseconds, and its
 * outcome.
 */
export type Probe = [what: Watched, at: number, ms: number, end: "ok" | "rejected" | "failed"]

/** The results of one series. Times are in milliseconds and leave out rejected and failed calls. */
export interface Seen {
  /** Before the flood. */
  quietP50: number
  quietP99: number
  /** During the flood. */
  count: number
  p50: number
  p99: number
  worst: number
  rejected: number
  failed: number
  /**
   * The seconds from the end of the flood to the end of the first half second in which all calls succeed as fast as
   * before. Null if there was none.
   */
  backAfter: number | null
}

const windowMs = 500

/** Evaluates one series. @param end The end of the flood, in milliseconds since 1970. */
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
