/** A step of the wall clock beside the other one that is taken for a time at which the machine stood still, in milliseconds. */
const suspensionMs = 50

/**
 * A clock for durations, in milliseconds, that does not stand still while the process or its machine does: the monotonic
 * clock, and what the time of day runs ahead of it. That of a machine that is suspended stands still with the machine. A time
 * of day that is set forward counts as well: what was to last is then over too early. It may be late by `suspensionMs`.
 */
export function elapsedTime(monotonic = () => performance.now(), timeOfDay: () => number = Date.now): () => number {
  const begun = monotonic()
  let ahead = timeOfDay() - begun
  let stoodStill = 0
  return () => {
    // Whoever is held up between two clocks must not take that for a suspension, or leases would be over while clients use them.
    const before = monotonic()
    const time = timeOfDay()
    const now = monotonic()
    const [least, most] = [time - now, time - before]
    if (least > ahead + suspensionMs) {
      stoodStill += least - ahead
      ahead = least
    } else if (most < ahead) ahead = most
    return now + stoodStill
  }
}
