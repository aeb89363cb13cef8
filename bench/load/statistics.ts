import { createHistogram } from "node:perf_hooks"

/** The median; of an even number of values the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle] as number
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** Times in milliseconds in a histogram of Node's: exact to three digits, and as large for a million of them as for one. */
export function openTimes(values: Iterable<number> = []) {
  const histogram = createHistogram()
  const add = (ms: number) => histogram.record(Math.max(1, Math.round(ms * 1e6)))
  for (const value of values) add(value)
  return {
    add,
    count: () => histogram.count,
    /** The time that so many per cent do not exceed; 0 of none. */
    percentile: (percent: number) => (histogram.count === 0 ? 0 : histogram.percentile(percent) / 1e6),
  }
}

/** Pseudo-random numbers from 0 up to, but not including, 1: the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
