/** A step of the wall clock beside the other one that is taken for a time at which the machine stood still, in milliseconds. */
export const suspensionMs = 50

/**
 * A clock for durations, in milliseconds, that does not stand still while the process or its machine does: the monotonic
 * clock, and what the time of day runs ahead of it. That of a machine that is suspended stands still with the machine. A time
 * of day that is set forward counts as well: what was to last is then over too early. It may be late by `suspensionMs`.
 */
export function elapsedTime(monotonic = () => performance.now(), timeOfDay: () => number = Date.now): () => number {
  let ahead = timeOfDay() - monotonic()
  let stoodStill = 0
  return () => {
    const now = monotonic()
    const difference = timeOfDay() - now
    if (difference > ahead + suspensionMs) stoodStill += difference - ahead
    if (difference > ahead + suspensionMs || difference < ahead) ahead = difference
    return now + stoodStill
  }
}
