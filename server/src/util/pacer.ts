/** A rate of work, and how much may come at once after a pause. */
export interface Rate {
  readonly perSecond: number
  readonly atOnce: number
}

/**
 * Spaces out work. The returned function takes the next place, and returns how long its work has to wait, in
 * milliseconds.
 *
 * @param now A monotonic clock, in milliseconds.
 */
export function pacer({ perSecond, atOnce }: Rate, now: () => number): () => number {
  const costMs = 1_000 / perSecond
  let end = Number.NEGATIVE_INFINITY
  return () => {
    const time = now()
    end = Math.max(end, time) + costMs
    return Math.max(0, end - time - atOnce * costMs)
  }
}
