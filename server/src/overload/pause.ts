/** The approximate CPU time of a rejection, in milliseconds: of one call among many in a message of a pipeline, and of a unary call. */
export const rejectionMs = { carried: 0.005, unary: 0.15 } as const
/** The fraction of the time that rejections may take. */
const share = 0.1
/** The longest pause, in milliseconds. */
const maxPauseMs = 1_000

/** Resolves when the connection or pipeline that has rejected calls may continue. @param workMs The time that the rejections took, in milliseconds. */
export type RejectionPause = (workMs: number) => Promise<void>

/**
 * Slows down rejections under overload, all of them together so much that most of the time is left for admitted calls. During its pause a
 * pipeline is not read, and a unary call still counts as an active call of its connection. Unread requests stay at
 * the client because of the flow control of HTTP/2.
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
