import { median } from "../bench/load/statistics.ts"

/** The difference between two heaps that does not count as growth: code compiled meanwhile, statements, pools. */
const slackBytes = 3 * 1024 * 1024

/** With fewer samples, growth cannot be distinguished from warm-up. */
const fewest = 12

/** Compares the heap in the first third of a run with that in the last third. The warm-up is left out. */
export function heapGrowth(samples: readonly number[]): { first: number; last: number; grows: boolean } {
  const warm = samples.slice(Math.floor(samples.length / 5))
  const third = Math.max(1, Math.floor(warm.length / 3))
  const [first, last] = [median(warm.slice(0, third)), median(warm.slice(-third))]
  return { first, last, grows: samples.length >= fewest && last - first > slackBytes }
}
