import type { Failure, Reason } from "../errors/failure.js"
import { longestTurnMs, turnLimit } from "../util/turn-limit.js"

/**
 * The approximate CPU time of a rejection, in milliseconds: of one call among many in a message of a pipeline, of a unary call, and of
 * a streaming one.
 */
export const rejectionMs = { carried: 0.005, unary: 0.15, stream: 0.4 } as const
/** The reasons of rejections by a limit. A client that repeats its call at once would have the service do nothing else. */
const byLimit: ReadonlySet<Reason> = new Set(["OVERLOADED", "TOO_MANY_CALLS"])
/** The fraction of the time that rejections may take. */
const share = 0.1
/** The longest pause, in milliseconds. */
const maxPauseMs = 1_000

/** Resolves when the connection or pipeline that has rejected calls may continue. @param workMs The time that the rejections took, in milliseconds. */
export type RejectionPause = (workMs: number) => Promise<void>

/** Returns whether a limit has rejected a call, so that a pause follows. */
export const isByLimit = ({ reason }: Failure): boolean => byLimit.has(reason)

/**
 * Slows down rejections by limits, all of them together so much that most of the time is left for admitted calls. During its pause a
 * pipeline is not read, and the stream of a call still counts against the limits of its key, so that pauses hold no more than these allow.
 * Unread requests stay at the client because of the flow control of HTTP/2.
 */
export function rejectionPause(): RejectionPause {
  let pausing = 0
  // The longest pauses are equally long. Without turns, those that ended while the event loop was busy would keep it busy again.
  const turn = turnLimit(longestTurnMs)
  return async (workMs) => {
    pausing++
    const ms = Math.min((workMs / share) * pausing, maxPauseMs)
    await new Promise((resolve) => setTimeout(resolve, ms))
    await turn()
    pausing--
  }
}
