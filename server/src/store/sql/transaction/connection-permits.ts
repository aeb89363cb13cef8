import type { Owner } from "../../../util/owner.js"
import { sharesInTurns } from "../../../util/shared-limits.js"
import type { Waiter } from "../../store.js"
import { type Queue, theService } from "./queue.js"

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
type PermitHolder = Pick<Waiter, "signal" | "owner">

/**
 * The permits for the connections of the pool, and all that waits for one of them. Tenants and their API keys take turns, and none gets all
 * of the permits for a purpose. Who waits for a `shared` connection is also admitted by a transaction that has a place left.
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

type Held = Record<Purpose, number>
const none: Readonly<Held> = { read: 0, scan: 0, write: 0, retry: 0, shared: 0 }
function heldBy<Owner>(all: Map<Owner, Held>, owner: Owner): Held {
  let held = all.get(owner)
  if (held === undefined) {
    held = { ...none }
    all.set(owner, held)
  }
  return held
}

const writersOf = ({ write, retry, shared }: Held) => write + retry + shared
const allOf = (held: Held) => held.read + held.scan + writersOf(held)

/** @param permits The number of permits. */
export function connectionPermits<Shared>(queue: Queue, permits: number): ConnectionPermits<Shared> {
  const line = queue.line<Shared | undefined, Purpose>()
  const held = { ...none }
  /**
   * The permits of each tenant, and of each API key, that has made a call. The work of the service itself, which is bounded, may have
   * all.
   */
  const heldByTenants = new Map<string, Held>()
  const heldByKeys = new Map<string | undefined, Held>()
  const few = fewOf(permits)
  const most = { all: permits, writers: writerPermitsOf(permits), scan: few, retry: few }
  const mostOf = (share: "tenant" | "key") => ({
    all: sharesInTurns(most.all)[share],
    writers: sharesInTurns(most.writers)[share],
    scan: sharesInTurns(few)[share],
    retry: sharesInTurns(few)[share],
  })
  const [mostOfTenant, mostOfKey] = [mostOf("tenant"), mostOf("key")]
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

  const isFree = (purpose: Purpose, owner: Owner): boolean =>
    isBelow(most, held, purpose) &&
    (owner === theService ||
      (isBelow(mostOfTenant, heldBy(heldByTenants, owner.tenant), purpose) &&
        isBelow(mostOfKey, heldBy(heldByKeys, owner.keyId), purpose))) &&
    (purpose !== "shared" || mayShare())

  function count(owner: Owner, purpose: Purpose, change: 1 | -1): void {
    held[purpose] += change
    if (owner === theService) return
    heldBy(heldByTenants, owner.tenant)[purpose] += change
    heldBy(heldByKeys, owner.keyId)[purpose] += change
  }

  function take(purpose: Purpose, owner: Owner): void {
    count(owner, purpose, 1)
    if (purpose !== "shared") return
    open++
    begun = performance.now()
  }

  const freeFor = (owner: Owner) => purposes.filter((purpose) => isFree(purpose, owner))

  /** Permits go at once to the next waiters that may have them, so that a newcomer cannot overtake. */
  function admitNext(): void {
    while (line.size > 0) {
      const admitted = line.admit(undefined, freeFor)
      if (admitted === undefined) break
      take(admitted.kind, admitted.owner)
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
      const { signal, owner = theService } = holder
      signal?.throwIfAborted()
      queue.throwIfClosed()
      // Whoever waits could not have the permit, except those who wait for a shared transaction, which begins at its time.
      if (isFree(purpose, owner) && (purpose !== "shared" || nextShared() === undefined)) {
        take(purpose, owner)
        return undefined
      }
      const waited = line.wait(holder, purpose)
      watch()
      return waited
    },
    release(purpose, { owner = theService }) {
      count(owner, purpose, -1)
      admitNext()
    },
    offer: (transaction) => line.admit(transaction, () => onlyShared) !== undefined,
    close() {
      open--
      admitNext()
    },
  }
}
