import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import type { ExpiredStore, Store } from "../store/store.js"
import { firstTime } from "../store/times.js"
import { orAborted } from "../util/abort.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { peerSignal } from "../util/peer-timeout.js"
import { restMs } from "../util/rest.js"

interface RoundOptions {
  /** How long rows are kept after their expiry, in milliseconds, unless the table has its own time. */
  keepMs: number
  /** The maximum number of rows in a batch. */
  limit: number
  signal?: AbortSignal
  /** Called after each batch with its table, its rows, and how long the oldest had been expired, in milliseconds. */
  onBatch?: (table: string, count: number, oldestMs: number) => void
  /** Called after each batch. False ends the round. */
  mayGoOn?: () => Promise<boolean>
}

/** The pause after a batch, in batches' durations, so that calls have the database for most of the time. */
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
      from = deleted.last
      if (mayGoOn !== undefined && !(await mayGoOn())) return
      await delay(restMs(begun, restFactor), undefined, { signal })
    }
  }
}

/** Observes a cleaner. */
export interface CleanupObserver {
  /** Called with whether this process holds the cleanup lease. */
  lease(isHeld: boolean): void
  /** Called when rows of a table were deleted. */
  deleted(table: string, count: number): void
  /** Called with how long the oldest deleted row of a table had been expired, in milliseconds. */
  oldest(table: string, ms: number): void
  /** Called when a round has ended. */
  ended(ms: number): void
}

interface CleanerOptions {
  store: Pick<Store, "expired" | "leases">
  log: Logger
  observer: CleanupObserver | undefined
  /** The time between two rounds, in milliseconds. The first round starts after this time. */
  intervalMs: number
  /** See RoundOptions. */
  keepMs: number
}

interface Cleaner {
  /**
   * Stops after the active statement, or after `graceMs` milliseconds if that takes longer, and releases the lease for
   * another process. Never throws, and may be called repeatedly.
   */
  stop(graceMs: number): Promise<void>
}

const lease = "cleanup"
const limit = 200
/** The timeout for releasing the lease at the end, in milliseconds. */
const releaseMs = 1_000

/** Deletes expired rows regularly, while it holds the lease, which lasts beyond the start of the next round. */
export function startCleaner({ store, log, observer, intervalMs, keepMs }: CleanerOptions): Cleaner {
  const holder = randomUUID()
  /** Others let the lease expire while this machine is suspended. */
  const elapsed = elapsedTime()
  const stopping = new AbortController()
  const { signal } = stopping
  let renewed = 0
  let isHeld = false
  let stopped: Promise<void> | undefined

  async function acquire(): Promise<boolean> {
    const asked = elapsed()
    isHeld = await store.leases.acquire({ signal }, { name: lease, holder, ms: 2 * intervalMs })
    renewed = asked
    observer?.lease(isHeld)
    return isHeld
  }

  async function clean(): Promise<void> {
    if (!(await acquire())) return
    const begun = performance.now()
    const total: Record<string, number> = {}
    const oldest: Record<string, number> = {}
    for (const { table } of store.expired.tables) observer?.oldest(table, 0)
    await cleanupRound(store.expired, {
      keepMs,
      limit,
      signal,
      onBatch(table, count, oldestMs) {
        oldest[table] = Math.max(oldest[table] ?? 0, oldestMs)
        observer?.oldest(table, oldest[table])
        total[table] = (total[table] ?? 0) + count
        observer?.deleted(table, count)
      },
      mayGoOn: async () => elapsed() - renewed < intervalMs / 2 || acquire(),
    })
    const ms = performance.now() - begun
    observer?.ended(ms)
    if (Object.keys(total).length > 0) log.info({ deleted: total, ms: Math.round(ms) }, "deleted expired rows")
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await delay(intervalMs, undefined, { signal, ref: false })
        await clean()
      } catch (error) {
        if (signal.aborted) return
        observer?.lease(false)
        log.warn({ err: error }, "expired rows could not be deleted: retrying later")
      }
    }
  }
  const ended = run()

  async function stop(graceMs: number): Promise<void> {
    stopping.abort()
    await orAborted(ended, peerSignal(graceMs)).catch(() => {})
    if (!isHeld) return
    // If the release fails, the lease expires.
    const released = store.leases.release({}, { name: lease, holder })
    await orAborted(released, peerSignal(releaseMs)).catch(() => {})
  }

  return {
    stop(graceMs) {
      stopped ??= stop(graceMs)
      return stopped
    },
  }
}
