/** The largest jump of the wall clock, against the monotonic clock, that is not a suspension. In milliseconds. */
const suspensionMs = 50

/**
 * Creates a clock for durations, in milliseconds, that also advances while the process or its machine is suspended. The
 * monotonic clock stops while the machine is suspended, so this clock adds the jumps of the wall clock against it. A
 * wall clock that is set forward counts as well, and then durations end too early. The clock may be late by
 * `suspensionMs`.
 */
export function elapsedTime(monotonic = () => performance.now(), timeOfDay = () => Date.now()): () => number {
  const begun = monotonic()
  let ahead = timeOfDay() - begun
  let stoodStill = 0
  return () => {
    // A delay between two clock reads must not count as a suspension, otherwise leases would end while they are in use.
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
