import { Counter, type Registry } from "prom-client"

/** Counts the exported spans. */
export interface SpanMetrics {
  /** @param isTaken whether the collector accepted them; otherwise they are lost */
  exported(spans: number, isTaken: boolean): void
}

export function spanMetrics(registers: Registry[]): SpanMetrics {
  const spans = new Counter({
    name: "authwire_spans_exported_total",
    help: "Spans that were sent to the collector, by outcome: accepted (ok) or lost (failed).",
    labelNames: ["outcome"] as const,
    registers,
  })
  for (const outcome of ["ok", "failed"]) spans.inc({ outcome }, 0)
  return { exported: (count, isTaken) => spans.inc({ outcome: isTaken ? "ok" : "failed" }, count) }
}
