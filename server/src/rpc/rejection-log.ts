import { randomUUID } from "node:crypto"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Logger } from "pino"
import type { Reason } from "./errors.js"

/**
 * Counts rejected calls in place of a line in the log for each: of those that are rejected because there are too many,
 * and of those that anybody can make at any rate, such as calls without a key, beyond the first ten in a second for each reason.
 */
export interface Rejections {
  /** A request id for rejected calls that bring none and share an error: the line of the log with this second's has it. */
  readonly requestId: string
  /** Whether all calls with this reason are counted, and none has a line. */
  counts(reason: Reason): boolean
  /** Counts a rejected call; false if it is to have a line. */
  count(method: DescMethod, transport: string, reason: Reason): boolean
  /** Writes what was counted. */
  flush(): void
}

const counted: ReadonlySet<Reason> = new Set([
  "OVERLOADED",
  "RATE_LIMITED",
  "TOO_MANY_CALLS",
  "ANSWERS_NOT_TAKEN",
  "QUEUE_FULL",
])

/** Anybody can make calls with these, or so many that a line each would be too much. */
const unlimited: ReadonlySet<Reason> = new Set([
  "API_KEY_MISSING",
  "API_KEY_INVALID",
  "SCOPE_MISSING",
  "METHOD_UNKNOWN",
])

/** How many of those have a line of their own in a second, for each reason. */
export const linesPerSecond = 10

/** How often a line is written while calls are rejected, in milliseconds. */
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
