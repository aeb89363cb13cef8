import type { Status } from "@authwire/proto/rpc/status"
import type { DescMethod } from "@bufbuild/protobuf"
import { requestIdOf } from "./active-calls.js"
import { type Failure, toStatus } from "./errors.js"
import type { Observer } from "./interceptor.js"
import type { Refusals } from "./rejection-log.js"
import { wireStatus } from "./wire-status.js"

/** What a call is told that is refused before it begins. */
export interface Refused {
  readonly status: Status
  /** About how large it is. */
  readonly bytes: number
}

/**
 * Refuses a call before it begins, and sees to it that this is on record.
 *
 * @param givenId the request id that the call brings
 */
export type Refuser = (failure: Failure, method: DescMethod, door: string, givenId: string | undefined) => Refused

export interface RefuserOptions {
  /** Counts the calls that are refused because there are too many. */
  refusals: Refusals
  /** Hears of the others. */
  observer: Pick<Observer, "refused">
  /** Hears of all. */
  audit: ((method: DescMethod, failure: Failure, requestId: string) => void) | undefined
}

/** Calls that are only counted and bring no request id share an error: under a flood there are many. */
export function refuser({ refusals, observer, audit }: RefuserOptions): Refuser {
  const shared = new Map<Failure, Refused & { requestId: string }>()
  const make = (failure: Failure, requestId: string) => {
    const status = wireStatus(toStatus(failure, requestId))
    return { requestId, status, bytes: sizeOf(status) }
  }
  const share = (failure: Failure) => {
    let error = shared.get(failure)
    if (error?.requestId !== refusals.requestId) {
      error = make(failure, refusals.requestId)
      shared.set(failure, error)
    }
    return error
  }
  return (failure, method, door, givenId) => {
    const isCounted = refusals.counts(failure.reason)
    const error = isCounted && givenId === undefined ? share(failure) : make(failure, requestIdOf(givenId))
    if (!refusals.count(method, door, failure.reason))
      observer.refused(method, door, error.requestId, error.status.code)
    audit?.(method, failure, error.requestId)
    return error
  }
}

/** About how large an error is, in bytes. */
export function sizeOf({ message, details }: Status): number {
  return details.reduce((bytes, { typeUrl, value }) => bytes + typeUrl.length + value.length, message.length)
}
