import { createHistogram } from "node:perf_hooks"

/** Returns the median. For an even number of values it is the mean of the two middle values. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle] as number
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/**
 * Records times in milliseconds in a histogram of Node. It is exact to three digits, and its size does not depend on
 * the number of values.
 */
export function openTimes(values: Iterable<number> = []) {
  const histogram = createHistogram()
  const add = (ms: number) => histogram.record(Math.max(1, Math.round(ms * 1e6)))
  for (const value of values) add(value)
  return {
    add,
    count: () => histogram.count,
    /** Returns the time that `percent` percent of the values do not exceed; 0 without values. */
    percentile: (percent: number) => (histogram.count === 0 ? 0 : histogram.percentile(percent) / 1e6),
  }
}

/**
 * Returns a generator of pseudo-random numbers from 0 (inclusive) to 1 (exclusive). The same seed gives the same
 * numbers (mulberry32).
 */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
