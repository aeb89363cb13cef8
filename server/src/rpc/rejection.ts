import type { Status } from "@authwire/proto/rpc/status"
import type { DescMethod } from "@bufbuild/protobuf"
import { requestIdOf } from "./active-calls.js"
import { type Failure, toStatus } from "./errors.js"
import type { Observer } from "./interceptor.js"
import type { Rejections } from "./rejection-log.js"
import { wireStatus } from "./wire-status.js"

/** What a call is told that is rejected before it begins. */
export interface Rejected {
  readonly status: Status
  /** About how large it is. */
  readonly bytes: number
}

/**
 * Rejects a call before it begins, and sees to it that this is on record.
 *
 * @param givenId the request id that the call brings
 */
export type Rejecter = (
  failure: Failure,
  method: DescMethod,
  transport: string,
  givenId: string | undefined,
) => Rejected

export interface RejecterOptions {
  /** Counts the calls that are rejected because there are too many. */
  rejections: Rejections
  /** Hears of the others. */
  observer: Pick<Observer, "rejected">
  /** Hears of all. */
  audit: ((method: DescMethod, failure: Failure, requestId: string) => void) | undefined
}

/** Calls that are only counted and bring no request id share an error: under a flood there are many. */
export function rejecter({ rejections, observer, audit }: RejecterOptions): Rejecter {
  // Weakly: a failure that says when to come again is made for one call.
  const shared = new WeakMap<Failure, Rejected & { requestId: string }>()
  const make = (failure: Failure, requestId: string) => {
    const status = wireStatus(toStatus(failure, requestId))
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
    if (!rejections.count(method, transport, failure.reason))
      observer.rejected(method, transport, error.requestId, error.status.code)
    audit?.(method, failure, error.requestId)
    return error
  }
}

/** About how large an error is, in bytes. */
export function sizeOf({ message, details }: Status): number {
  return details.reduce((bytes, { typeUrl, value }) => bytes + typeUrl.length + value.length, message.length)
}
