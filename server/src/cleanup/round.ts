import { setTimeout as delay } from "node:timers/promises"
import type { ExpiredStore } from "../store/store.js"
import { firstTime } from "../store/times.js"
import { restMs } from "../util/rest.js"

export interface RoundOptions {
  /** How long rows are kept after their expiry, in milliseconds, unless the table has its own time. */
  keepMs: number
  /** The maximum number of rows in a batch. */
  limit: number
  signal?: AbortSignal
  /**
   * Called after each batch with the table, the number of deleted rows, and how long the oldest of them had been
   * expired, in milliseconds.
   */
  onBatch?: (table: string, count: number, oldestMs: number) => void
  /** Called after each batch. False ends the round. */
  mayGoOn?: () => Promise<boolean>
}

/**
 * The pause after a batch, as a multiple of the batch's duration. Calls therefore have the database for most of the
 * time, and for longer the busier it is.
 */
const restFactor = 4

/**
 * Deletes expired rows in consecutive batches. Each batch begins where the previous one ended, because the index still
 * has the entries of deleted rows. Reading over all of them would take longer every time.
 */
export async function cleanupRound(expired: ExpiredStore, options: RoundOptions): Promise<void> {
  const { limit, signal, onBatch, mayGoOn } = options
  const waiter = { signal }
  const now = (await expired.now(waiter)).getTime()
  for (const { table, keepMs = options.keepMs, deleteBatch } of expired.tables) {
    const before = new Date(now - keepMs)
    let from = firstTime
    for (;;) {
      const begun = performance.now()
      const deleted = await deleteBatch(waiter, { from, before, limit })
      if (deleted === null) break
      if (deleted.count > 0) onBatch?.(table, deleted.count, now - deleted.first.getTime())
      if (deleted.count < limit) break
      from = deleted.last
      if (mayGoOn !== undefined && !(await mayGoOn())) return
      await delay(restMs(begun, restFactor), undefined, { signal })
    }
  }
}
