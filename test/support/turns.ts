import { performance } from "node:perf_hooks"

/**
 * How many turns the event loop makes while something is under way: few if it sleeps meanwhile. The least and the most of
 * three times, as a single turn may take long on a busy machine, and something else may have begun before.
 */
export async function turnsWhile(work: () => Promise<unknown>): Promise<{ least: number; most: number }> {
  const turns: number[] = []
  for (let round = 0; round < 3; round++) {
    const { loopCount } = performance.nodeTiming.uvMetricsInfo
    await work()
    turns.push(performance.nodeTiming.uvMetricsInfo.loopCount - loopCount)
  }
  return { least: Math.min(...turns), most: Math.max(...turns) }
}
