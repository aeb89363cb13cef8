import { randomUUID } from "node:crypto"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Logger } from "pino"
import type { Reason } from "./errors.js"

/**
 * Counts rejected calls instead of writing a log line for each. It counts all calls that are rejected because there are
 * too many. Of calls that any client can make at any rate, such as calls without a key, it counts those beyond the
 * first ten per second and reason.
 */
export interface Rejections {
  /** The request id for rejected calls that have none and share an error. The next log line with counts contains it. */
  readonly requestId: string
  /** Returns whether all calls with this reason are only counted, without a log line of their own. */
  counts(reason: Reason): boolean
  /** Counts a rejected call. Returns false if the call needs a log line of its own. */
  count(method: DescMethod, transport: string, reason: Reason): boolean
  /** Writes the counts to the log. */
  flush(): void
}

const counted: ReadonlySet<Reason> = new Set([
  "OVERLOADED",
  "RATE_LIMITED",
  "TOO_MANY_CALLS",
  "ANSWERS_NOT_TAKEN",
  "QUEUE_FULL",
])

/** Reasons for which any client can cause rejections at any rate, so that a line each would be too many. */
const unlimited: ReadonlySet<Reason> = new Set([
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "SCOPE_MISSING",
  "METHOD_UNKNOWN",
])

/** The number of these calls per second that get a log line of their own, for each reason. */
export const linesPerSecond = 10

/** The interval between lines with counts while calls are rejected, in milliseconds. */
const lineMs = 1_000

export function rejections(log: Logger): Rejections {
  let requestId = randomUUID()
  let timer: NodeJS.Timeout | undefined
  const lines = new Map<Reason, number>()
  const counts = new Map<string, { method: string; transport: string; reason: Reason; calls: number }>()

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    lines.clear()
    if (counts.size === 0) return
    log.warn({ rejected: [...counts.values()], request_id: requestId }, "calls rejected")
    counts.clear()
    requestId = randomUUID()
  }

  return {
    counts: (reason) => counted.has(reason),
    get requestId() {
      return requestId
    },
    count(method, transport, reason) {
      if (!counted.has(reason) && !unlimited.has(reason)) return false
      timer ??= setTimeout(flush, lineMs)
      if (unlimited.has(reason)) {
        const written = lines.get(reason) ?? 0
        lines.set(reason, written + 1)
        if (written < linesPerSecond) return false
      }
      const name = `${method.parent.typeName}/${method.name}`
      const key = `${name} ${transport} ${reason}`
      const entry = counts.get(key)
      if (entry === undefined) counts.set(key, { method: name, transport, reason, calls: 1 })
      else entry.calls++
      return true
    },
    flush,
  }
}
