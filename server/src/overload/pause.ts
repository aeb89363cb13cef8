/** About what it takes to reject one of many calls in a message, in milliseconds. */
const rejectionMs = 0.005
/** The share of the time that rejecting calls of pipelines may take. */
const share = 0.1
/** The longest pause, in milliseconds. */
const maxPauseMs = 1_000

/**
 * Pauses the reading of pipelines whose calls are rejected, all together so long that rejecting leaves the time to the
 * calls that are let in. What is not read stays with the client, as the window of HTTP/2 has it.
 *
 * @returns resolves when the next message of a pipeline may be read, after so many rejections in the one before.
 */
export function rejectionPause(): (rejections: number) => Promise<void> {
  let pausing = 0
  return async (rejections) => {
    pausing++
    const ms = Math.min(((rejections * rejectionMs) / share) * pausing, maxPauseMs)
    await new Promise((resolve) => setTimeout(resolve, ms))
    pausing--
  }
}
