import { randomUUID } from "node:crypto"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Logger } from "pino"
import type { Reason } from "../errors/failure.js"
import { fullName } from "./interceptor.js"

/**
 * Counts calls instead of writing a log line for each. It counts all calls that are rejected because there are too many.
 * Of calls that any client can make at any rate, such as calls without a key, it counts those beyond the first ten per
 * second and outcome, whether they were rejected or not.
 */
export interface Rejections {
  /** The request id for rejected calls that have none and share an error. The next log line with counts contains it. */
  readonly requestId: string
  /** Returns whether all calls with this reason are only counted, without a log line of their own. */
  counts(reason: Reason): boolean
  /**
   * Counts a call. Returns false if the call needs a log line of its own.
   *
   * @param outcome The reason of the failure, otherwise the name of the status code.
   * @param hasIdentity Whether a key limits the calls of this caller.
   */
  count(method: DescMethod, transport: string, outcome: string, hasIdentity: boolean): boolean
  /** Writes the counts to the log. */
  flush(): void
}

const counted: ReadonlySet<string> = new Set<Reason>([
  "OVERLOADED",
  "RATE_LIMITED",
  "TOO_MANY_CALLS",
  "ANSWERS_NOT_TAKEN",
  "QUEUE_FULL",
])

/** Reasons for which a client with a key, too, can cause rejections at any rate, so that a line each would be too many. */
const unlimited: ReadonlySet<string> = new Set<Reason>([
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "SCOPE_MISSING",
  "METHOD_UNKNOWN",
])

/** The number of calls per second that get a log line of their own, for each outcome, if no key limits the calls. */
export const linesPerSecond = 10

/** The interval between lines with counts while calls are counted, in milliseconds. */
const lineMs = 1_000

export function rejections(log: Logger): Rejections {
  let requestId = randomUUID()
  let timer: NodeJS.Timeout | undefined
  const lines = new Map<string, number>()
  const counts = new Map<string, { method: string; transport: string; reason: string; calls: number }>()

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    lines.clear()
    const all = [...counts.values()]
    counts.clear()
    const answered = all.filter(({ reason }) => reason === "OK").map(({ reason: _, ...count }) => count)
    if (answered.length > 0) log.info({ answered }, "calls answered")
    const rejected = all.filter(({ reason }) => reason !== "OK")
    if (rejected.length === 0) return
    log.warn({ rejected, request_id: requestId }, "calls rejected")
    requestId = randomUUID()
  }

  return {
    counts: (reason) => counted.has(reason),
    get requestId() {
      return requestId
    },
    count(method, transport, outcome, hasIdentity) {
      if (!counted.has(outcome)) {
        if (hasIdentity && !unlimited.has(outcome)) return false
        timer ??= setTimeout(flush, lineMs)
        const written = lines.get(outcome) ?? 0
        lines.set(outcome, written + 1)
        if (written < linesPerSecond) return false
      }
      timer ??= setTimeout(flush, lineMs)
      const name = fullName(method)
      const key = `${name} ${transport} ${outcome}`
      const entry = counts.get(key)
      if (entry === undefined) counts.set(key, { method: name, transport, reason: outcome, calls: 1 })
      else entry.calls++
      return true
    },
    flush,
  }
}
