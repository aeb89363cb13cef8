import type { MetricValues } from "../metrics/metrics.js"
import type { WorkerProcess } from "./fork.js"

/** Collects the metrics of workers. */
export interface MetricsGatherer {
  /** Returns the metrics of each process. A process that does not answer within a second is omitted. */
  ask(processes: readonly WorkerProcess[]): Promise<MetricValues[]>
  /** Records the answer to a request. */
  hear(id: number, values: MetricValues): void
}

const answerMs = 1_000

export function metricsGatherer(): MetricsGatherer {
  const waiting = new Map<number, (values: MetricValues | undefined) => void>()
  let last = 0

  const askOne = (process: WorkerProcess): Promise<MetricValues | undefined> => {
    const id = ++last
    const { promise, resolve } = Promise.withResolvers<MetricValues | undefined>()
    const timer = setTimeout(resolve, answerMs, undefined)
    waiting.set(id, resolve)
    process.send({ type: "metrics", id })
    return promise.finally(() => {
      clearTimeout(timer)
      waiting.delete(id)
    })
  }

  return {
    async ask(processes) {
      return (await Promise.all(processes.map(askOne))).filter((values) => values !== undefined)
    },
    hear: (id, values) => waiting.get(id)?.(values),
  }
}
