import { median } from "../bench/load/statistics.ts"

/** What two heaps may differ by without one having grown: code that was compiled meanwhile, statements, pools. */
const slackBytes = 3 * 1024 * 1024

/** In fewer samples than these warming up cannot be told from growing. */
const fewest = 12

/** Compares the heap of the first third of a run with that of the last; what came while it became warm does not count. */
export function heapGrowth(samples: readonly number[]): { first: number; last: number; grows: boolean } {
  const warm = samples.slice(Math.floor(samples.length / 5))
  const third = Math.max(1, Math.floor(warm.length / 3))
  const [first, last] = [median(warm.slice(0, third)), median(warm.slice(-third))]
  return { first, last, grows: samples.length >= fewest && last - first > slackBytes }
}
