import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import type { Store } from "../store/store.js"
import { orAborted } from "../util/abort.js"
import { cleanupRound } from "./round.js"

/** Hears what a cleaner does. */
export interface CleanupObserver {
  /** Whether this process is the one that cleans. */
  lease(isHeld: boolean): void
  /** Rows of a table were deleted. */
  deleted(table: string, count: number): void
  /** How long the oldest row of a table had been there after its time when it was deleted, in milliseconds. */
  oldest(table: string, ms: number): void
  /** A round is over. */
  ended(ms: number): void
}

export interface CleanerOptions {
  store: Pick<Store, "expired" | "leases">
  log: Logger
  observer: CleanupObserver | undefined
  /** The time between two rounds, in milliseconds; the first one comes after it. */
  intervalMs: number
  /** See RoundOptions. */
  keepMs: number
}

export interface Cleaner {
  /**
   * Ends after the statement that is active, or after so many milliseconds if that takes longer, and lets another process
   * follow. Never throws, and may be called again.
   */
  stop(graceMs: number): Promise<void>
}

const lease = "cleanup"
const limit = 200
/** How long the end may take to give the lease back. */
const releaseMs = 1_000

/** Deletes what has expired, while no other process does: whoever holds the lease, which outlasts the next round's begin. */
export function startCleaner({ store, log, observer, intervalMs, keepMs }: CleanerOptions): Cleaner {
  const holder = randomUUID()
  const stopping = new AbortController()
  const { signal } = stopping
  let renewed = 0
  let isHeld = false
  let stopped: Promise<void> | undefined

  async function acquire(): Promise<boolean> {
    isHeld = await store.leases.acquire({ signal }, { name: lease, holder, ms: 2 * intervalMs })
    renewed = performance.now()
    observer?.lease(isHeld)
    return isHeld
  }

  async function clean(): Promise<void> {
    if (!(await acquire())) return
    const begun = performance.now()
    const total: Record<string, number> = {}
    for (const { table } of store.expired.tables) observer?.oldest(table, 0)
    await cleanupRound(store.expired, {
      keepMs,
      limit,
      signal,
      onBatch(table, count, oldestMs) {
        if (total[table] === undefined) observer?.oldest(table, oldestMs)
        total[table] = (total[table] ?? 0) + count
        observer?.deleted(table, count)
      },
      mayGoOn: async () => performance.now() - renewed < intervalMs / 2 || acquire(),
    })
    const ms = performance.now() - begun
    observer?.ended(ms)
    if (Object.keys(total).length > 0) log.info({ deleted: total, ms: Math.round(ms) }, "deleted what had expired")
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await delay(intervalMs, undefined, { signal, ref: false })
        await clean()
      } catch (error) {
        if (signal.aborted) return
        observer?.lease(false)
        log.warn({ err: error }, "what has expired could not be deleted: trying again later")
      }
    }
  }
  const ended = run()

  async function stop(graceMs: number): Promise<void> {
    stopping.abort()
    await orAborted(ended, AbortSignal.timeout(graceMs)).catch(() => {})
    if (!isHeld) return
    // Where that cannot be, it runs out.
    const released = store.leases.release({}, { name: lease, holder })
    await orAborted(released, AbortSignal.timeout(releaseMs)).catch(() => {})
  }

  return {
    stop(graceMs) {
      stopped ??= stop(graceMs)
      return stopped
    },
  }
}
