import { randomUUID } from "node:crypto"
import { createRequire } from "node:module"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { BatchSpanProcessor, ConsoleSpanExporter, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace"
import type { Configuration } from "../cli/config/configuration.js"
import { reportingExporter } from "./reporting-exporter.js"
import { samplerOf } from "./sampler.js"
import type { Tracing, TracingOptions } from "./tracing.js"

/**
 * Spans that wait to be sent, and those that go in one request. Who makes calls faster than the collector takes their spans,
 * or while it is away, loses spans: about 2 MB is the most that they take.
 */
const maxWaiting = 2048
const maxTogether = 512
/** How long a span waits for others, and how long a request may take, in milliseconds. */
const delayMs = 1_000
const requestMs = 5_000
/** What one span may hold. */
const spanLimits = { attributeCountLimit: 32, attributeValueLengthLimit: 2048, eventCountLimit: 16, linkCountLimit: 16 }
/** How long the last spans may take at the end, in milliseconds. */
const lastMs = 2_000

export function startTracing(configuration: Configuration, { log, metrics, worker }: TracingOptions): Tracing {
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

function exporterOf({ traceExporter, traceEndpoint, otlpEndpoint, otlpHeaders }: Configuration): SpanExporter {
  if (traceExporter === "console") return new ConsoleSpanExporter()
  const url = traceEndpoint ?? `${otlpEndpoint.replace(/\/$/, "")}/v1/traces`
  return new OTLPTraceExporter({ url, headers: otlpHeaders ?? {}, timeoutMillis: requestMs })
}
