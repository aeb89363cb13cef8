import { randomUUID } from "node:crypto"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Logger } from "pino"
import type { Reason } from "../errors.js"

/** Counts the calls that are refused because there are too many: a line in the log for each would be one more load. */
export interface Refusals {
  /** A request id for refused calls that bring none and share an error: the line of the log with this second's has it. */
  readonly requestId: string
  /** Whether calls with this reason are counted; others have a line each. */
  counts(reason: Reason): boolean
  /** Counts a refused call, if calls with this reason are. */
  count(method: DescMethod, door: string, reason: Reason): boolean
  /** Writes what was counted. */
  flush(): void
}

const counted: ReadonlySet<Reason> = new Set(["OVERLOADED", "RATE_LIMITED", "TOO_MANY_CALLS", "QUEUE_FULL"])

/** How often a line is written while calls are refused, in milliseconds. */
const lineMs = 1_000

export function refusals(log: Logger): Refusals {
  let requestId = randomUUID()
  let timer: NodeJS.Timeout | undefined
  const counts = new Map<string, { method: string; door: string; reason: Reason; calls: number }>()

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (counts.size === 0) return
    log.warn({ refused: [...counts.values()], request_id: requestId }, "calls refused")
    counts.clear()
    requestId = randomUUID()
  }

  return {
    counts: (reason) => counted.has(reason),
    get requestId() {
      return requestId
    },
    count(method, door, reason) {
      if (!counted.has(reason)) return false
      const name = `${method.parent.typeName}/${method.name}`
      const key = `${name} ${door} ${reason}`
      const entry = counts.get(key)
      if (entry === undefined) counts.set(key, { method: name, door, reason, calls: 1 })
      else entry.calls++
      timer ??= setTimeout(flush, lineMs)
      return true
    },
    flush,
  }
}
