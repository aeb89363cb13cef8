import { Counter, Gauge, Histogram, type Registry } from "prom-client"
import { webhookDisableReasons } from "../store/types.js"
import type { WebhookObserver } from "../webhooks/dispatcher.js"

/** Bucket limits in seconds, up to the longest that a delivery may take. */
const buckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** Creates the metrics of webhooks. */
export function webhookMetrics(registers: Registry[]): WebhookObserver {
  const duration = new Histogram({
    name: "authwire_webhook_delivery_seconds",
    help: "The duration of attempts to deliver to webhooks, by outcome: accepted, refused by an answer, or failed without one.",
    labelNames: ["outcome"] as const,
    buckets,
    registers,
  })
  const disabled = new Counter({
    name: "authwire_webhooks_disabled_total",
    help: "Webhooks that the service has disabled, by reason: gone (answer 410), failing (for three days), or behind (has missed events).",
    labelNames: ["reason"] as const,
    registers,
  })
  const oldest = new Gauge({
    name: "authwire_webhook_oldest_event_seconds",
    help: "The age of the oldest event that waits for a webhook; 0 if none waits, or if another process sends.",
    registers,
  })
  // An increase from nothing to 1 is none for Prometheus.
  for (const outcome of ["accepted", "refused", "failed"]) duration.zero({ outcome })
  for (const reason of webhookDisableReasons) if (reason !== "requested") disabled.inc({ reason }, 0)
  return {
    sent({ kind, durationMs }, isAccepted) {
      const outcome = isAccepted ? "accepted" : kind === "answered" ? "refused" : "failed"
      duration.observe({ outcome }, durationMs / 1000)
    },
    disabled: (reason) => disabled.inc({ reason }),
    oldest: (ms) => oldest.set(ms / 1000),
  }
}
