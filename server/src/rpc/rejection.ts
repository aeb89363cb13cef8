import type { Status } from "@authwire/proto/rpc/status"
import type { DescMethod } from "@bufbuild/protobuf"
import type { Failure } from "../errors/failure.js"
import { statusOf } from "../errors/status.js"
import { requestIdOf } from "./call.js"
import type { Observer } from "./interceptor.js"
import type { Rejections } from "./rejection-log.js"

/** The error of a call that is rejected before it begins. */
export interface Rejected {
  readonly status: Status
  /** The approximate size of the status, in bytes. */
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

export interface RejecterOptions {
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
      error = make(failure, rejections.requestId)
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

/** Returns the approximate size of an error, in bytes. */
export function sizeOf({ message, details }: Status): number {
  return details.reduce((bytes, { typeUrl, value }) => bytes + typeUrl.length + value.length, message.length)
}
