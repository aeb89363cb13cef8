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

/** The largest number of errors that calls share. There are fewer, unless the delays after which to retry all differ. */
const mostShared = 100

/** Creates a rejecter. Calls that are only counted and have no request id share an error: a flood has many of them. */
export function rejecter({ rejections, observer, audit }: RejecterOptions): Rejecter {
  /** The errors with the request id of the next line with counts. */
  const shared = new Map<string, Rejected>()
  let sharedId = ""
  const make = (failure: Failure, requestId: string) => {
    const status = statusOf(failure, requestId)
    return { status, bytes: sizeOf(status) }
  }
  const share = (failure: Failure) => {
    const { requestId } = rejections
    if (sharedId !== requestId) shared.clear()
    sharedId = requestId
    const name = nameOf(failure)
    const known = name === undefined ? undefined : shared.get(name)
    if (known !== undefined) return known
    const error = make(failure, requestId)
    if (name === undefined || shared.size >= mostShared) return error
    const ofAll = { ...error, bytes: 0 }
    shared.set(name, ofAll)
    return ofAll
  }
  return (failure, method, transport, givenId) => {
    const isCounted = rejections.count(method, transport, failure.reason, true)
    const isShared = isCounted && givenId === undefined
    const requestId = isShared ? rejections.requestId : requestIdOf(givenId)
    const error = isShared ? share(failure) : make(failure, requestId)
    if (!isCounted) observer.rejected(method, transport, requestId, error.status.code)
    audit?.(method, failure, requestId)
    return error
  }
}

/** Returns what the errors of equal failures have in common; undefined for a failure with details of its own. */
function nameOf({ reason, code, message, metadata, violations, details, retryAfterMs }: Failure): string | undefined {
  if (violations.length > 0 || details !== undefined || Object.keys(metadata).length > 0) return undefined
  return `${reason} ${code} ${retryAfterMs === undefined ? "" : Math.ceil(retryAfterMs)} ${message}`
}

/** The memory that a detail of an error takes beside its bytes: about that of its objects. */
const detailBytes = 512

/** Returns the approximate memory of an error, in bytes. */
export function sizeOf({ message, details }: Status): number {
  const ofDetails = details.map(({ typeUrl, value }) => detailBytes + typeUrl.length + value.length)
  return ofDetails.reduce((sum, bytes) => sum + bytes, message.length)
}
