import type { Waiter } from "../../store.js"
import type { Queue } from "./queue.js"

/**
 * What a unit of work needs its connection for:
 *
 * - `read`: a statement that waits for no lock.
 * - `scan`: a read that may examine as many rows as one statement may. Few connections are for it, so that the database has most of its
 *   time for others.
 * - `write`: work that may wait for a lock of another transaction while it holds the connection.
 * - `retry`: work that has met a lock. Few connections are for it, so that most stay free for work that has met none.
 * - `shared`: a transaction that further work may join while it runs.
 */
export type Purpose = (typeof purposes)[number]
const purposes = ["read", "scan", "write", "retry", "shared"] as const
const onlyShared: readonly Purpose[] = ["shared"]

/** Who has a permit, or waits for one. */
type PermitHolder = Pick<Waiter, "signal" | "limitKey">

/**
 * The permits for the connections of the pool, and all that waits for one of them. The API keys take turns, and no key gets all of the
 * permits for a purpose. Who waits for a `shared` connection is also admitted by a transaction that has a place left.
 */
export interface ConnectionPermits<Shared> {
  /**
   * Waits for a permit. For `shared`, it may return a transaction to join instead. Throws as Line.wait does. The waiters of one key are
   * admitted in the order of arrival, of those whose limit is not reached.
   */
  acquire(purpose: Purpose, holder: PermitHolder): Promise<Shared | undefined>
  release(purpose: Purpose, holder: PermitHolder): void
  /** Lets the next waiter for a shared connection join a transaction. Returns false if nobody waits. */
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

/** How many of the permits are for scans, and how many for work that has met a lock. */
export const fewOf = (permits: number): number => Math.max(1, Math.floor(permits / 5))

/** How many of the permits are for work that may hold its connection while it waits for a lock. The others stay free for readers. */
export const writerPermitsOf = (permits: number): number => Math.max(1, permits - fewOf(permits))

/**
 * How many of a number of permits one API key may have at the same time. The others stay free for all other keys, even if none of them
 * calls now. The work of the service itself, which is bounded, may have all.
 */
export const permitsOfKey = (permits: number): number => Math.max(1, permits - Math.ceil(permits / 10))

type Held = Record<Purpose, number>
const none: Readonly<Held> = { read: 0, scan: 0, write: 0, retry: 0, shared: 0 }
const writersOf = ({ write, retry, shared }: Held) => write + retry + shared
const allOf = (held: Held) => held.read + held.scan + writersOf(held)

/** @param permits The number of permits. */
export function connectionPermits<Shared>(queue: Queue, permits: number): ConnectionPermits<Shared> {
  const line = queue.line<Shared | undefined, Purpose>()
  const held = { ...none }
  /** The permits of each API key that has some. */
  const heldByKeys = new Map<string, Held>()
  const few = fewOf(permits)
  const most = { all: permits, writers: writerPermitsOf(permits), scan: few, retry: few }
  const mostOfKey = {
    all: permitsOfKey(most.all),
    writers: permitsOfKey(most.writers),
    scan: permitsOfKey(few),
    retry: permitsOfKey(few),
  }
  /** The number of shared transactions that can still be joined. */
  let open = 0
  /** When the last of them began. */
  let begun = 0
  let timer: NodeJS.Timeout | undefined

  const nextShared = () => line.next(() => onlyShared)
  /** When another shared transaction begins although there are enough. */
  const lateAt = () => Math.max(nextShared()?.arrived ?? Number.POSITIVE_INFINITY, begun) + longestWaitMs
  const mayShare = () => open < sharedAtOnce || performance.now() >= lateAt()

  const isBelow = (limits: typeof most, now: Held, purpose: Purpose) => {
    if (allOf(now) >= limits.all) return false
    if (purpose === "scan") return now.scan < limits.scan
    if (purpose === "read") return true
    return writersOf(now) < limits.writers && (purpose !== "retry" || now.retry < limits.retry)
  }

  const isFree = (purpose: Purpose, key: string): boolean =>
    isBelow(most, held, purpose) &&
    (key === "" || isBelow(mostOfKey, heldByKeys.get(key) ?? none, purpose)) &&
    (purpose !== "shared" || mayShare())

  function count(key: string, purpose: Purpose, change: 1 | -1): void {
    held[purpose] += change
    if (key === "") return
    const own = heldByKeys.get(key) ?? { ...none }
    own[purpose] += change
    if (allOf(own) > 0) heldByKeys.set(key, own)
    else heldByKeys.delete(key)
  }

  function take(purpose: Purpose, key: string): void {
    count(key, purpose, 1)
    if (purpose !== "shared") return
    open++
    begun = performance.now()
  }

  const freeFor = (key: string) => purposes.filter((purpose) => isFree(purpose, key))

  /** Permits go at once to the next waiters that may have them, so that a newcomer cannot overtake. */
  function admitNext(): void {
    while (line.size > 0) {
      const admitted = line.admit(undefined, freeFor)
      if (admitted === undefined) break
      take(admitted.kind, admitted.key)
    }
    watch()
  }

  /** Comes back when the first waiter for a shared transaction has waited too long. Without a free permit it comes back later. */
  function watch(): void {
    if (timer !== undefined || nextShared() === undefined) return
    const waitMs = lateAt() - performance.now()
    const next = () => {
      timer = undefined
      admitNext()
    }
    timer = setTimeout(next, waitMs > 0 ? waitMs : longestWaitMs)
  }

  return {
    get held() {
      return allOf(held)
    },
    get waiting() {
      return line.size
    },
    async acquire(purpose, holder) {
      const { signal, limitKey = "" } = holder
      signal?.throwIfAborted()
      queue.throwIfClosed()
      // Whoever waits could not have the permit, except those who wait for a shared transaction, which begins at its time.
      if (isFree(purpose, limitKey) && (purpose !== "shared" || nextShared() === undefined)) {
        take(purpose, limitKey)
        return undefined
      }
      const waited = line.wait(holder, purpose)
      watch()
      return waited
    },
    release(purpose, { limitKey = "" }) {
      count(limitKey, purpose, -1)
      admitNext()
    },
    offer: (transaction) => line.admit(transaction, () => onlyShared) !== undefined,
    close() {
      open--
      admitNext()
    },
  }
}
