import { Counter, Gauge, type Registry } from "prom-client"
import type { CleanupObserver } from "../cleanup/cleaner.js"

/** Creates the metrics of the deletion of expired rows. */
export function cleanupMetrics(registry: Registry): CleanupObserver {
  const registers = [registry]
  const lease = new Gauge({
    name: "authwire_cleanup_lease_held",
    help: "Whether this process holds the lease to delete expired rows: 1 or 0.",
    registers,
  })
  const rows = new Counter({
    name: "authwire_cleanup_deleted_rows_total",
    help: "The number of expired rows that were deleted.",
    labelNames: ["table"] as const,
    registers,
  })
  const oldest = new Gauge({
    name: "authwire_cleanup_oldest_row_seconds",
    help: "The time between the expiry of the oldest row and its deletion in the last round of this process; 0 if there was none to delete.",
    labelNames: ["table"] as const,
    registers,
  })
  const duration = new Counter({
    name: "authwire_cleanup_seconds_total",
    help: "The total duration of the deletion rounds of this process, including their pauses.",
    registers,
  })
  const rounds = new Counter({
    name: "authwire_cleanup_rounds_total",
    help: "The number of completed deletion rounds.",
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
