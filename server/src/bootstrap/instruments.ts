import type { Logger } from "pino"
import type { Configuration } from "../config/configuration.js"
import { createMetrics, type Metrics } from "../metrics/metrics.js"
import type { Tracing } from "../tracing/tracing.js"

/** The metrics and the tracing of a process. Each is undefined if the configuration does not enable it. */
export interface Instruments {
  readonly metrics: Metrics | undefined
  readonly tracing: Tracing | undefined
}

/** Opens them. If tracing is not enabled, its libraries are not even loaded. */
export async function openInstruments(configuration: Configuration, log: Logger): Promise<Instruments> {
  const metrics = configuration.metricsAddr && createMetrics()
  if (configuration.traceExporter === "none") return { metrics, tracing: undefined }
  const { startTracing } = await import("../tracing/tracing.js")
  return { metrics, tracing: startTracing(configuration, { log, metrics: metrics?.spans }) }
}
