import { setTimeout as delay } from "node:timers/promises"
import type { ExpiredStore } from "../store/store.js"

export interface RoundOptions {
  /** How long rows are kept after their time, where the table does not say it itself, in milliseconds. */
  keepMs: number
  /** How many rows a batch has at the most. */
  limit: number
  signal?: AbortSignal
  /** Hears of each batch: how many rows of a table it deleted, and how long after its time the oldest one of them. */
  onBatch?: (table: string, count: number, oldestMs: number) => void
  /** Asked after each batch; false ends the round. */
  mayGoOn?: () => Promise<boolean>
}

// Before all that the engines can hold as a moment.
const earliest = new Date("1000-01-01T00:00:00.000Z")

/**
 * How many times as long as a batch took it rests before the next one, so that calls have the database for most of the
 * time, and the more of it the busier it is.
 */
const restFactor = 4

/**
 * Deletes what has expired, in one batch after the other. Each begins where the one before it ended: the index still has
 * the entries of rows that are deleted, and reading over all of them would take longer every time.
 */
export async function cleanupRound(expired: ExpiredStore, options: RoundOptions): Promise<void> {
  const { limit, signal, onBatch, mayGoOn } = options
  const waiter = { signal }
  const now = (await expired.now(waiter)).getTime()
  for (const { table, keepMs = options.keepMs, deleteBatch } of expired.tables) {
    const before = new Date(now - keepMs)
    let from = earliest
    for (;;) {
      const begun = performance.now()
      const deleted = await deleteBatch(waiter, { from, before, limit })
      if (deleted === null) break
      onBatch?.(table, deleted.count, now - deleted.first.getTime())
      if (deleted.count < limit) break
      from = deleted.last
      if (mayGoOn !== undefined && !(await mayGoOn())) return
      await delay((performance.now() - begun) * restFactor, undefined, { signal })
    }
  }
}
