/** About what it takes to reject a call, in milliseconds: one of many in a message of a pipeline, and one by itself. */
export const rejectionMs = { carried: 0.005, unary: 0.15 } as const
/** The share of the time that rejecting calls may take. */
const share = 0.1
/** The longest pause, in milliseconds. */
const maxPauseMs = 1_000

/** Resolves when whoever has rejected calls may go on. @param workMs how long rejecting them took, in milliseconds. */
export type RejectionPause = (workMs: number) => Promise<void>

/**
 * Pauses whoever rejects calls because there are too many, all together so long that rejecting leaves the time to the calls
 * that are let in. A pipeline is not read meanwhile; another connection has a place less for calls at work. What is not read
 * stays with the client, as the window of HTTP/2 has it.
 */
export function rejectionPause(): RejectionPause {
  let pausing = 0
  return async (workMs) => {
    pausing++
    const ms = Math.min((workMs / share) * pausing, maxPauseMs)
    await new Promise((resolve) => setTimeout(resolve, ms))
    pausing--
  }
}
