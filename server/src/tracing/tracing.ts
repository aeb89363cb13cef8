import type { TextMapPropagator, Tracer } from "@opentelemetry/api"
import type { Logger } from "pino"
import type { SpanMetrics } from "../metrics/traces.js"

/** Records spans, and sends them to a collector. */
export interface Tracing {
  readonly tracer: Tracer
  /** Reads the context of a trace from headers (W3C Trace Context). */
  readonly propagator: TextMapPropagator
  /** Sends what was recorded, as far as that can be done in two seconds, and records nothing more. Throws never. */
  stop(): Promise<void>
}

export interface TracingOptions {
  log: Logger
  metrics: SpanMetrics | undefined
  /** The number of this worker, where there are several. */
  worker?: number | undefined
}
