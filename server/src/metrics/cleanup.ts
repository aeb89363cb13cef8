import { Counter, Gauge, type Registry } from "prom-client"
import type { CleanupObserver } from "../cleanup/cleaner.js"

/** Creates the metrics of the deletion of expired rows. */
export function cleanupMetrics(registry: Registry): CleanupObserver {
  const registers = [registry]
  const lease = new Gauge({
    name: "authwire_cleanup_lease_held",
    help: "Whether this process is the one that deletes what has expired: 1 or 0.",
    registers,
  })
  const rows = new Counter({
    name: "authwire_cleanup_deleted_rows_total",
    help: "Rows that were deleted because they had expired.",
    labelNames: ["table"] as const,
    registers,
  })
  const oldest = new Gauge({
    name: "authwire_cleanup_oldest_row_seconds",
    help: "How long the oldest row had been there after its time when the last round of this process deleted it; 0: there was none to delete.",
    labelNames: ["table"] as const,
    registers,
  })
  const duration = new Counter({
    name: "authwire_cleanup_seconds_total",
    help: "How long the rounds of this process took, with their pauses.",
    registers,
  })
  const rounds = new Counter({
    name: "authwire_cleanup_rounds_total",
    help: "Rounds of deletion that came to their end.",
    registers,
  })
  return {
    lease: (isHeld) => lease.set(isHeld ? 1 : 0),
    deleted: (table, count) => rows.inc({ table }, count),
    oldest: (table, ms) => oldest.set({ table }, ms / 1000),
    ended(ms) {
      duration.inc(ms / 1000)
      rounds.inc()
    },
  }
}
