import type { Logger } from "pino"
import type { Configuration } from "../cli/config/configuration.js"
import { createMetrics, type Metrics } from "../metrics/metrics.js"
import type { Tracing, TracingOptions } from "../tracing/tracing.js"

/** What measures and records what a process does; each is undefined where the configuration does not ask for it. */
export interface Instruments {
  readonly metrics: Metrics | undefined
  readonly tracing: Tracing | undefined
}

/** @param options.worker The number of this worker, where there are several. */
export async function openInstruments(
  configuration: Configuration,
  { log, worker }: { log: Logger; worker?: number },
): Promise<Instruments> {
  const metrics = configuration.metricsAddr && createMetrics(worker)
  return { metrics, tracing: await openTracing(configuration, { log, metrics: metrics?.spans, worker }) }
}

/** Where nothing is to be recorded, the libraries are not even loaded. */
async function openTracing(configuration: Configuration, options: TracingOptions): Promise<Tracing | undefined> {
  if (configuration.traceExporter === "none") return undefined
  const { startTracing } = await import("../tracing/sdk.js")
  return startTracing(configuration, options)
}
