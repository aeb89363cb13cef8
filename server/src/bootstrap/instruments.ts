import type { Logger } from "pino"
import type { Configuration } from "../config/configuration.js"
import { createMetrics, type Metrics } from "../metrics/metrics.js"
import type { Tracing, TracingOptions } from "../tracing/tracing.js"

/** The metrics and the tracing of a process. Each is undefined if the configuration does not enable it. */
export interface Instruments {
  readonly metrics: Metrics | undefined
  readonly tracing: Tracing | undefined
}

/** @param options.worker The number of this worker, if there are several. */
export async function openInstruments(
  configuration: Configuration,
  { log, worker }: { log: Logger; worker?: number },
): Promise<Instruments> {
  const metrics = configuration.metricsAddr && createMetrics(worker)
  return { metrics, tracing: await openTracing(configuration, { log, metrics: metrics?.spans, worker }) }
}

/** Starts tracing. If it is not enabled, its libraries are not even loaded. */
async function openTracing(configuration: Configuration, options: TracingOptions): Promise<Tracing | undefined> {
  if (configuration.traceExporter === "none") return undefined
  const { startTracing } = await import("../tracing/sdk.js")
  return startTracing(configuration, options)
}
