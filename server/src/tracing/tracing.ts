import type { TextMapPropagator, Tracer } from "@opentelemetry/api"
import type { Logger } from "pino"
import type { SpanMetrics } from "../metrics/traces.js"

/** Records spans and exports them to a collector. */
export interface Tracing {
  readonly tracer: Tracer
  /** Reads the context of a trace from headers (W3C Trace Context). */
  readonly propagator: TextMapPropagator
  /** Exports the recorded spans, for two seconds at most, and records no more. Never throws. */
  stop(): Promise<void>
}

export interface TracingOptions {
  log: Logger
  metrics: SpanMetrics | undefined
  /** The number of this worker, if there are several. */
  worker?: number | undefined
}
