import { randomUUID } from "node:crypto"
import { createRequire } from "node:module"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { BatchSpanProcessor, ConsoleSpanExporter, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace"
import { reportingExporter } from "./reporting-exporter.js"
import { type SamplerName, samplerOf } from "./sampler.js"
import type { Tracing, TracingOptions } from "./tracing.js"

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
  /** The URL of the collector for traces. Default: `otlpEndpoint` followed by `v1/traces`. */
  traceEndpoint?: string | undefined
  otlpEndpoint: string
  otlpHeaders?: Record<string, string> | undefined
  traceSampler: SamplerName
  /** The share of calls that the samplers with a ratio sample, from 0 to 1. */
  traceRatio: number
  traceServiceName: string
  traceResource?: Record<string, string> | undefined
}

export function startTracing(configuration: TraceSettings, { log, metrics, worker }: TracingOptions): Tracing {
  const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }
  const exporter = reportingExporter(exporterOf(configuration), { log, metrics })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": configuration.traceServiceName,
      "service.version": version,
      "service.instance.id": randomUUID(),
      "process.pid": process.pid,
      ...(worker !== undefined && { "authwire.worker": worker }),
      ...configuration.traceResource,
    }),
    sampler: samplerOf(configuration.traceSampler, configuration.traceRatio),
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

function exporterOf({ traceExporter, traceEndpoint, otlpEndpoint, otlpHeaders }: TraceSettings): SpanExporter {
  if (traceExporter === "console") return new ConsoleSpanExporter()
  const url = traceEndpoint ?? `${otlpEndpoint.replace(/\/$/, "")}/v1/traces`
  return new OTLPTraceExporter({ url, headers: otlpHeaders ?? {}, timeoutMillis: requestMs })
}
