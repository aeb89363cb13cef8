import { connectionsOfTenant } from "../../../util/shared-limits.js"
import { longestTurnMs } from "../../../util/turn-limit.js"
import type { Waiter } from "../../store.js"
import type { Queue, Waiting } from "./queue.js"

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
export type Purpose = "read" | "scan" | "write" | "retry" | "shared"

/** Who has a permit, or waits for one. */
type PermitHolder = Pick<Waiter, "signal" | "ofTenant">

/** What a waiter waits for. `arrived` is its time by `performance.now()`. */
interface Wanted {
  readonly purpose: Purpose
  readonly arrived: number
}

/**
 * The permits for the connections of the pool, and all that waits for one of them, in the order of arrival. No tenant gets all of the
 * permits for a purpose. Who waits for a `shared` connection is also admitted by a transaction that has a place left.
 */
export interface ConnectionPermits<Shared> {
  /** Waits for a permit. For `shared`, it may return a transaction to join instead. Throws as Line.wait does. */
  acquire(purpose: Purpose, holder: PermitHolder): Promise<Shared | undefined>
  /**
   * Gives a permit back.
   *
   * @param heldMs About how long its statements took, in milliseconds. After long ones a tenant rests; see connectionPermits. Default: 0.
   */
  release(purpose: Purpose, holder: PermitHolder, heldMs?: number): void
  /** Resolves when the tenant has rested; undefined if it does not rest. */
  restOf(holder: PermitHolder): Promise<void> | undefined
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

/**
 * For how many turns of the event loop a tenant rests. Meanwhile the calls of others that have arrived during its statements are read, run
 * theirs if they only read, and are answered, and their writes join the line before the next one of the tenant. Without a rest each of
 * these steps waits for further long statements.
 */
const turnsOfRest = 4

/** How many of the permits are for scans, and how many for work that has met a lock. */
export const fewOf = (permits: number): number => Math.max(1, Math.floor(permits / 5))

/** How many of the permits are for work that may hold its connection while it waits for a lock. The others stay free for readers. */
export const writerPermitsOf = (permits: number): number => Math.max(1, permits - fewOf(permits))

/** Permits that are held, or may be. */
interface Counts {
  all: number
  /** Those for writes, retries and shared transactions. */
  writers: number
  scan: number
  retry: number
}

const none: Readonly<Counts> = { all: 0, writers: 0, scan: 0, retry: 0 }

/** The counts to which a permit belongs. */
const countsOf: Readonly<Record<Purpose, readonly (keyof Counts)[]>> = {
  read: ["all"],
  scan: ["all", "scan"],
  write: ["all", "writers"],
  retry: ["all", "writers", "retry"],
  shared: ["all", "writers"],
}

/**
 * @param permits The number of permits.
 * @param areBlocking Whether statements keep the event loop busy. Then a tenant whose statements took long rests, if another one has called
 *   since the start. Default: they do not.
 */
export function connectionPermits<Shared>(
  queue: Queue,
  permits: number,
  areBlocking = false,
): ConnectionPermits<Shared> {
  const line = queue.line<Shared | undefined, Wanted>()
  const few = fewOf(permits)
  const most: Counts = { all: permits, writers: writerPermitsOf(permits), scan: few, retry: few }
  const mostOfTenant: Counts = {
    all: connectionsOfTenant(most.all),
    writers: connectionsOfTenant(most.writers),
    scan: connectionsOfTenant(few),
    retry: connectionsOfTenant(few),
  }
  const held = { ...none }
  /** The permits of each tenant that has made a call. Work of the service itself, which is bounded, may have all. */
  const heldByTenants = new Map<string, Counts>()
  /** The number of shared transactions that can still be joined. */
  let open = 0
  /** When the last of them began. */
  let begun = 0
  let timer: NodeJS.Timeout | undefined
  /** The tenants whose statements have just taken long. */
  const resting = new Map<Waiter["ofTenant"], Promise<void>>()

  function heldBy(tenant: string): Counts {
    const counts = heldByTenants.get(tenant) ?? { ...none }
    heldByTenants.set(tenant, counts)
    return counts
  }

  const isFree = (purpose: Purpose, ofTenant: string | undefined): boolean =>
    !resting.has(ofTenant) &&
    countsOf[purpose].every(
      (name) => held[name] < most[name] && (ofTenant === undefined || heldBy(ofTenant)[name] < mostOfTenant[name]),
    )

  function count(purpose: Purpose, ofTenant: string | undefined, change: 1 | -1): void {
    for (const name of countsOf[purpose]) {
      held[name] += change
      if (ofTenant !== undefined) heldBy(ofTenant)[name] += change
    }
  }

  function take(purpose: Purpose, ofTenant: string | undefined): void {
    count(purpose, ofTenant, 1)
    if (purpose !== "shared") return
    open++
    begun = performance.now()
  }

  const isShared = ({ wanted: { purpose } }: Waiting<Wanted>) => purpose === "shared"

  /** When another shared transaction begins although there are enough. */
  const lateAt = () => Math.max(line.first(isShared)?.wanted.arrived ?? Number.POSITIVE_INFINITY, begun) + longestWaitMs

  /** Permits go at once to the next waiters that may have them, so that a newcomer cannot overtake. */
  function admitNext(): void {
    while (line.size > 0 && held.all < permits) {
      const mayShare = open < sharedAtOnce || performance.now() >= lateAt()
      const mayBeNext = ({ ofTenant, wanted: { purpose } }: Waiting<Wanted>) =>
        (purpose !== "shared" || mayShare) && isFree(purpose, ofTenant)
      const admitted = line.admit(undefined, mayBeNext)
      if (admitted === undefined) break
      take(admitted.wanted.purpose, admitted.ofTenant)
    }
    watch()
  }

  async function rest(ofTenant: string): Promise<void> {
    for (let turn = 0; turn < turnsOfRest; turn++) await new Promise((resolve) => setImmediate(resolve))
    resting.delete(ofTenant)
    admitNext()
  }

  /** Comes back when the first waiter for a shared transaction has waited too long. Without a free permit it comes back later. */
  function watch(): void {
    if (timer !== undefined || line.first(isShared) === undefined) return
    const waitMs = lateAt() - performance.now()
    const next = () => {
      timer = undefined
      admitNext()
    }
    timer = setTimeout(next, waitMs > 0 ? waitMs : longestWaitMs)
  }

  return {
    get held() {
      return held.all
    },
    get waiting() {
      return line.size
    },
    async acquire(purpose, { signal, ofTenant }) {
      signal?.throwIfAborted()
      queue.throwIfClosed()
      // Whoever waits could not have the permit, except those who wait for a shared transaction, which begins at its time.
      const mustWait = purpose === "shared" && (open >= sharedAtOnce || line.first(isShared) !== undefined)
      if (!mustWait && isFree(purpose, ofTenant)) {
        take(purpose, ofTenant)
        // Of several connections the tenant may have this one and wait for another purpose.
        if (permits === 1) line.passed(ofTenant)
        return undefined
      }
      const waited = line.wait({ signal, ofTenant }, { purpose, arrived: performance.now() })
      watch()
      return waited
    },
    release(purpose, { ofTenant }, heldMs = 0) {
      count(purpose, ofTenant, -1)
      if (areBlocking && ofTenant !== undefined && heldMs >= longestTurnMs && heldByTenants.size > 1)
        resting.set(ofTenant, rest(ofTenant))
      admitNext()
    },
    restOf: ({ ofTenant }) => resting.get(ofTenant),
    offer: (transaction) => line.admit(transaction, isShared) !== undefined,
    close() {
      open--
      admitNext()
    },
  }
}
