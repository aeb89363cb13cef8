import { randomUUID } from "node:crypto"
import type { Status } from "@authwire/proto/rpc/status"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Logger } from "pino"
import type { Failure, Reason } from "../errors/failure.js"
import { statusOf } from "../errors/status.js"
import { requestIdOf } from "./call.js"
import { fullName, type Observer } from "./interceptor.js"

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

/** The error of a call that is rejected before it begins. */
interface Rejected {
  readonly status: Status
  /** The approximate memory of the status, in bytes. None if other calls share it. */
  readonly bytes: number
}

/**
 * Rejects a call before it begins, and records the rejection.
 *
 * @param givenId the request id that the client sent
 */
export type Rejecter = (
  failure: Failure,
  method: DescMethod,
  transport: string,
  givenId: string | undefined,
) => Rejected

interface RejecterOptions {
  /** Counts the rejected calls that get no log line of their own. */
  rejections: Rejections
  /** Observes the rejected calls that are not counted. */
  observer: Pick<Observer, "rejected">
  /** Observes all rejected calls. */
  audit: ((method: DescMethod, failure: Failure, requestId: string) => void) | undefined
}

/** Creates a rejecter. Calls that are only counted and have no request id share an error: a flood has many of them. */
export function rejecter({ rejections, observer, audit }: RejecterOptions): Rejecter {
  // A WeakMap, because a failure with a retry delay is created for a single call.
  const shared = new WeakMap<Failure, Rejected & { requestId: string }>()
  const make = (failure: Failure, requestId: string) => {
    const status = statusOf(failure, requestId)
    return { requestId, status, bytes: sizeOf(status) }
  }
  const share = (failure: Failure) => {
    let error = shared.get(failure)
    if (error?.requestId !== rejections.requestId) {
      error = { ...make(failure, rejections.requestId), bytes: 0 }
      shared.set(failure, error)
    }
    return error
  }
  return (failure, method, transport, givenId) => {
    const isCounted = rejections.counts(failure.reason)
    const error = isCounted && givenId === undefined ? share(failure) : make(failure, requestIdOf(givenId))
    if (!rejections.count(method, transport, failure.reason, true))
      observer.rejected(method, transport, error.requestId, error.status.code)
    audit?.(method, failure, error.requestId)
    return error
  }
}

/** The memory that a detail of an error takes beside its bytes: about that of its objects. */
const detailBytes = 512

/** Returns the approximate memory of an error, in bytes. */
export function sizeOf({ message, details }: Status): number {
  const ofDetails = details.map(({ typeUrl, value }) => detailBytes + typeUrl.length + value.length)
  return ofDetails.reduce((sum, bytes) => sum + bytes, message.length)
}
