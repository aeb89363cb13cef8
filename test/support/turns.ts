import { performance } from "node:perf_hooks"

/**
 * How many turns the event loop makes while something is under way: few if it sleeps meanwhile. The most of three times,
 * as a single turn may take long on a busy machine.
 */
export async function mostTurnsWhile(work: () => Promise<unknown>): Promise<number> {
  let most = 0
  for (let round = 0; round < 3; round++) {
    const { loopCount } = performance.nodeTiming.uvMetricsInfo
    await work()
    most = Math.max(most, performance.nodeTiming.uvMetricsInfo.loopCount - loopCount)
  }
  return most
}
