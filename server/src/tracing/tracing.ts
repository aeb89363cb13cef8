import { randomUUID } from "node:crypto"
import type { TextMapPropagator, Tracer } from "@opentelemetry/api"
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources"
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace"
import type { Logger } from "pino"
import type { SpanMetrics } from "../metrics/metrics.js"
import { ownVersion } from "../util/version.js"

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
}

/**
 * The largest number of spans that wait to be exported, and of spans in one export request. Spans are dropped if calls
 * produce them faster than the collector accepts them, or while it is unavailable. Waiting spans take about 2 MB at
 * most.
 */
const maxWaiting = 2048
const maxTogether = 512
/** How long a span waits for its batch, and the timeout of an export request, in milliseconds. */
const delayMs = 1_000
const requestMs = 5_000
/** The limits of one span. */
const spanLimits = { attributeCountLimit: 32, attributeValueLengthLimit: 2048, eventCountLimit: 16, linkCountLimit: 16 }
/** The timeout for the export of the last spans at shutdown, in milliseconds. */
const lastMs = 2_000

export interface TraceSettings {
  /** The destination of the spans. `none` is handled by the caller. */
  traceExporter: "none" | "otlp" | "console"
  /** A sampler, as OTEL_TRACES_SAMPLER names it. */
  traceSampler: `${"" | "parentbased_"}${"always_on" | "always_off" | "traceidratio"}`
  /** The share of calls that the samplers with a ratio sample, from 0 to 1. */
  traceRatio: number
}

/**
 * Starts to record spans. The exporter and the detector read the other variables of OpenTelemetry from the environment:
 * the URL of the collector, headers, certificates, and attributes of the service.
 */
export function startTracing(configuration: TraceSettings, { log, metrics }: TracingOptions): Tracing {
  const version = ownVersion()
  const exporter = reportingExporter(exporterOf(configuration), { log, metrics })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": "authwire",
      "service.version": version,
      "service.instance.id": randomUUID(),
      "process.pid": process.pid,
    }).merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: samplerOf(configuration),
    spanLimits,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: maxWaiting,
        maxExportBatchSize: maxTogether,
        scheduledDelayMillis: delayMs,
        exportTimeoutMillis: requestMs,
      }),
    ],
  })
  return {
    tracer: provider.getTracer("@authwire/server", version),
    propagator: new W3CTraceContextPropagator(),
    async stop() {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, lastMs)
      await Promise.race([provider.shutdown().catch(() => {}), late.promise])
      clearTimeout(timer)
    },
  }
}

function exporterOf({ traceExporter }: TraceSettings): SpanExporter {
  return traceExporter === "console" ? new ConsoleSpanExporter() : new OTLPTraceExporter({ timeoutMillis: requestMs })
}

function samplerOf({ traceSampler: name, traceRatio }: TraceSettings): Sampler {
  const root = name.endsWith("always_on")
    ? new AlwaysOnSampler()
    : name.endsWith("always_off")
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(traceRatio)
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root
}

/**
 * Wraps an exporter. It counts exported and lost spans, and logs when the collector stops accepting spans and when it
 * accepts them again. Only the code of a failure is logged, because its text may be the collector's response.
 */
function reportingExporter(
  exporter: SpanExporter,
  { log, metrics }: Pick<TracingOptions, "log" | "metrics">,
): SpanExporter {
  let fails = false
  const report = (spans: number, { code, error }: ExportResult): void => {
    const isTaken = code === ExportResultCode.SUCCESS
    metrics?.exported(spans, isTaken)
    if (isTaken === !fails) return
    fails = !isTaken
    if (isTaken) log.info("the collector accepts traces again")
    else log.warn({ code: codeOf(error) }, "the collector does not accept traces: spans are lost until it does")
  }
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        report(spans.length, result)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

/** Returns a code such as `ECONNREFUSED` or the HTTP status; without a code, the name of the error. */
function codeOf(error: (Error & { code?: unknown }) | undefined): string | number | undefined {
  const { code, cause } = error ?? {}
  if (typeof code === "string" || typeof code === "number") return code
  return cause instanceof Error ? codeOf(cause) : error?.name
}
