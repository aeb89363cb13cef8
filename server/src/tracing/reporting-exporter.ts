import { type ExportResult, ExportResultCode } from "@opentelemetry/core"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import type { TracingOptions } from "./tracing.js"

/**
 * Wraps an exporter. It counts exported and lost spans, and logs when the collector stops accepting spans and when it
 * accepts them again. Only the code of a failure is logged, because its text may be the collector's response.
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
