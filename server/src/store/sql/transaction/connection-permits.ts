import type { Line, Queue } from "./queue.js"

/**
 * What a unit of work needs its connection for:
 *
 * - `read`: a statement that waits for no lock.
 * - `write`: work that may wait for a lock of another transaction while it holds the connection.
 * - `retry`: work that has met a lock. Few connections are for it, so that most stay free for work that has met none.
 * - `shared`: a transaction that further work may join while it runs.
 */
export type Purpose = "read" | "write" | "retry" | "shared"

/**
 * The permits for the connections of the pool, and all that waits for one of them. Who waits for a `shared` connection is also
 * admitted by a transaction that has a place left.
 */
export interface ConnectionPermits<Shared> {
  /**
   * Waits for a permit. For `shared`, it may return a transaction to join instead. Throws as Line.wait does. One waiter after the other
   * is admitted in the order of arrival, of those whose limit is not reached.
   */
  acquire(purpose: Purpose, signal: AbortSignal | undefined): Promise<Shared | undefined>
  release(purpose: Purpose): void
  /** Lets the first waiter for a shared connection join a transaction. Returns false if nobody waits. */
  offer(transaction: Shared): boolean
  /** Says that nobody joins a shared transaction any more, and that the next one may begin. */
  close(): void
  /** The number of permits that are held. */
  readonly held: number
  readonly waiting: number
}

/**
 * How many shared transactions run before further work waits to join one. Those that are being committed do not count. With a higher
 * number each shared transaction is smaller, and the database has more to do.
 */
const sharedAtOnce = 1

/**
 * The longest time that work waits before another shared transaction begins, in milliseconds. The one before it may be blocked by a
 * lock. See docs/decisions/0011-idempotency-keys.md.
 */
const longestWaitMs = 5

const retryPermitsOf = (permits: number): number => Math.max(1, Math.floor(permits / 5))

/** How many of the permits are for work that may hold its connection while it waits for a lock. The others stay free for readers. */
export const writerPermitsOf = (permits: number): number => Math.max(1, permits - retryPermitsOf(permits))

/** @param permits The number of permits. */
export function connectionPermits<Shared>(queue: Queue, permits: number): ConnectionPermits<Shared> {
  const lines: Record<Purpose, Line<Shared | undefined>> = {
    read: queue.line(),
    write: queue.line(),
    retry: queue.line(),
    shared: queue.line(),
  }
  const held = { read: 0, write: 0, retry: 0, shared: 0 }
  const waiting = Object.entries(lines) as [Purpose, Line<Shared | undefined>][]
  /** The number of shared transactions that can still be joined. */
  let open = 0
  /** When the last of them began. */
  let begun = 0
  let timer: NodeJS.Timeout | undefined

  const heldByWriters = () => held.write + held.retry + held.shared
  /** When another shared transaction begins although there are enough. */
  const lateAt = () => Math.max(lines.shared.since, begun) + longestWaitMs
  const mayShare = () => open < sharedAtOnce || performance.now() >= lateAt()

  function isFree(purpose: Purpose): boolean {
    const writers = heldByWriters()
    if (held.read + writers >= permits) return false
    if (purpose === "read") return true
    if (writers >= writerPermitsOf(permits)) return false
    return purpose === "write" || (purpose === "retry" ? held.retry < retryPermitsOf(permits) : mayShare())
  }

  function take(purpose: Purpose): void {
    held[purpose]++
    if (purpose !== "shared") return
    open++
    begun = performance.now()
  }

  /** Permits go at once to the first waiters that may have them, so that a newcomer cannot overtake. */
  function admitNext(): void {
    while (queue.size > 0) {
      let next: Purpose | undefined
      for (const [purpose, line] of waiting)
        if (line.first < (next === undefined ? Number.POSITIVE_INFINITY : lines[next].first) && isFree(purpose))
          next = purpose
      if (next === undefined) break
      take(next)
      lines[next].admit(undefined)
    }
    watch()
  }

  /** Comes back when the first waiter for a shared transaction has waited too long. Without a free permit it comes back later. */
  function watch(): void {
    if (timer !== undefined || lines.shared.size === 0) return
    const waitMs = lateAt() - performance.now()
    const next = () => {
      timer = undefined
      admitNext()
    }
    timer = setTimeout(next, waitMs > 0 ? waitMs : longestWaitMs)
  }

  return {
    get held() {
      return held.read + heldByWriters()
    },
    get waiting() {
      return lines.read.size + lines.write.size + lines.retry.size + lines.shared.size
    },
    async acquire(purpose, signal) {
      signal?.throwIfAborted()
      queue.throwIfClosed()
      const line = lines[purpose]
      if (line.size === 0 && isFree(purpose)) {
        take(purpose)
        return undefined
      }
      const waited = line.wait(signal)
      watch()
      return waited
    },
    release(purpose) {
      held[purpose]--
      admitNext()
    },
    offer: (transaction) => lines.shared.admit(transaction),
    close() {
      open--
      admitNext()
    },
  }
}
