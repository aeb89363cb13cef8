/** The smallest jump of the wall clock against the monotonic one that counts as a suspension, in milliseconds. */
export const suspensionMs = 50

/**
 * Creates a clock for durations, in milliseconds, that also counts the time for which the process or its machine is
 * suspended. The monotonic clock stops while a machine is suspended, so this clock adds the amount by which the time of
 * day runs ahead of it. A time of day that is set forward counts as well, and durations then end too early. The clock
 * may be late by up to `suspensionMs`.
 */
export function elapsedTime(): () => number {
  let ahead = Date.now() - performance.now()
  let stoodStill = 0
  return () => {
    const now = performance.now()
    const difference = Date.now() - now
    if (difference > ahead + suspensionMs) stoodStill += difference - ahead
    if (difference > ahead + suspensionMs || difference < ahead) ahead = difference
    return now + stoodStill
  }
}
