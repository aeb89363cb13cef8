import { type ExportResult, ExportResultCode } from "@opentelemetry/core"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import type { TracingOptions } from "./tracing.js"

/**
 * Counts what becomes of spans, and says in the log when the collector does not take them any more, and when it does again.
 * Of the failure only its code is told: its text may be the collector's answer.
 */
export function reportingExporter(
  exporter: SpanExporter,
  { log, metrics }: Pick<TracingOptions, "log" | "metrics">,
): SpanExporter {
  let fails = false
  const report = (spans: number, { code, error }: ExportResult): void => {
    const isTaken = code === ExportResultCode.SUCCESS
    metrics?.exported(spans, isTaken)
    if (isTaken === !fails) return
    fails = !isTaken
    if (isTaken) log.info("the collector takes traces again")
    else log.warn({ code: codeOf(error) }, "the collector does not take traces: spans are lost until it does")
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

/** `ECONNREFUSED`, or the status of HTTP. */
function codeOf(error: (Error & { code?: unknown }) | undefined): string | number | undefined {
  const { code, cause } = error ?? {}
  if (typeof code === "string" || typeof code === "number") return code
  return cause instanceof Error ? codeOf(cause) : error?.name
}
