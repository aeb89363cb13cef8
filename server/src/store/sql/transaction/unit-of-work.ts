import { ROOT_CONTEXT, trace } from "@opentelemetry/api"
import type { Waiter } from "../../store.js"
import type { SqlEngine } from "../engine/engine.js"
import { Lease } from "../engine/lease.js"
import type { DatabaseLoad, Observation } from "../engine/observer.js"
import type { Cell } from "../query/statement.js"
import { failsBy, StatementError, storeError } from "../query/statement-error.js"
import { groupCommit, type Participant, RolledBack } from "./group-commit.js"
import { queue } from "./queue.js"
import type { Backoff } from "./retry.js"
import { rowMutexes } from "./row-mutexes.js"
import { type Kind, semaphore } from "./semaphore.js"

export interface UnitOptions {
  /** The most units of work that may wait. */
  queueLimit: number
  backoff: Backoff
  observation?: Observation
}

/** A unit of work that writes. */
export interface UnitOfWork extends Waiter {
  /**
   * Names of the rows that it changes, or locks by its foreign keys. No two units of work that name the same row run at the same
   * time.
   */
  readonly rows: readonly string[]
}

/**
 * Runs something on the connection of the unit of work, and retries it while it conflicts with other transactions; see Backoff.
 * Between two tries the unit has neither a permit nor a connection, so that other work can run.
 */
export type Attempt = <T>(once: (lease: Lease) => Promise<T>) => Promise<T>

export interface UnitsOfWork {
  /**
   * Runs a statement that reads, and retries it on another connection as Lease.read and Backoff do. Throws errors of the store.
   *
   * @param mutex Reads that name the same mutex run one at a time.
   */
  read(waiter: Waiter, sql: string, cells: Cell[], mutex?: string): Promise<Cell[][]>
  /** Runs work with a permit and a connection. Whatever the work throws is turned into an error of the store. */
  write<T>(unit: UnitOfWork, work: (attempt: Attempt) => Promise<T>): Promise<T>
  /**
   * Runs work that may share its transaction and that names its rows step by step. All of it runs again when it conflicts with
   * another transaction, and on another member of a cluster when its connection is lost. It keeps its rows locked between tries,
   * until it names further rows. It must not be able to commit the same thing twice.
   */
  runJoint<T>(unit: UnitOfWork, work: (join: Join) => Promise<T>): Promise<T>
  /** Runs work that opens a connection of its own. It counts as a writer. */
  runOutside<T>(work: () => Promise<T>): Promise<T>
  load(): DatabaseLoad
  /** Rejects all waiters, and every later one. */
  close(): void
}

/**
 * Locks rows of this process, beside those that the work has locked, and joins a transaction in which the work runs statements.
 * New rows mean a new transaction: all rows are locked in one order and outside of any transaction, so that no two units of work
 * wait for each other. The work therefore unlocks its rows and leaves its transaction first; `mayLeave` throws if it must not.
 */
export type Join = (rows: readonly string[], mayLeave: () => void, options?: JoinOptions) => Promise<Participant>

export interface JoinOptions {
  /** Whether the work may take long. Then it does not share its transaction. */
  isLong?: boolean
  /**
   * Whether the work relies on something that it read before its rows were locked. If it had to wait for the lock, that is
   * probably out of date and the work will fail. Then it does not share its transaction, which would be rolled back with it.
   */
  readsBefore?: boolean
}

/** The one row of an engine that locks the whole database: all writers wait in one line. */
const wholeDatabase = ["everything"]

/**
 * How many transactions run before further work waits to share one. Transactions that are being committed do not count. With a higher
 * number each shared transaction is smaller, and the database has more to do. Work that has waited long begins another transaction
 * anyway: see docs/decisions/0011-idempotency-keys.md.
 */
const transactionsAtOnce = 1

const retryPermitsOf = (permits: number): number => Math.max(1, Math.floor(permits / 5))

/** How many of the permits writers may hold. */
export const writerPermitsOf = (permits: number): number => Math.max(1, permits - retryPermitsOf(permits))

/** How many of the waiters may wait for one row: a tenth of them, or all where the queue is short. */
export const rowWaitersOf = (queueLimit: number): number =>
  Math.max(Math.ceil(queueLimit / 10), Math.min(queueLimit, 16))

export function unitsOfWork(engine: SqlEngine, { queueLimit, backoff, observation }: UnitOptions): UnitsOfWork {
  const waiters = queue(queueLimit)
  const { concurrency } = engine
  const permits = semaphore(waiters, { permits: concurrency, writerPermits: writerPermitsOf(concurrency) })
  // Work that has met a lock also needs one of these few, so that most permits stay free for work that has met none.
  const retryPermitCount = retryPermitsOf(concurrency)
  const retryPermits = semaphore(waiters, { permits: retryPermitCount, writerPermits: retryPermitCount })
  const groups = groupCommit({
    size: { limit: engine.lookups.limit, ahead: transactionsAtOnce },
    begin: engine.begin,
    queue: waiters,
  })
  const mutexes = rowMutexes(waiters, engine.locksRows ? rowWaitersOf(queueLimit) : queueLimit)

  /** @param hasMetLock Whether the work has met a lock. A retry on another member of the cluster is not limited further. */
  async function acquireLease(kind: Kind, waiter: Waiter, hasMetLock: boolean): Promise<Lease> {
    const { signal, whileWaiting = (waited) => waited } = waiter
    if (hasMetLock) await whileWaiting(retryPermits.acquire(kind, signal))
    try {
      await permits.acquire(kind, signal)
    } catch (error) {
      if (hasMetLock) retryPermits.release(kind)
      throw error
    }
    // After an abort the permit stays held until the connection that was being opened has been returned.
    return new Lease(engine, observation, waiter.spans, () => {
      permits.release(kind)
      if (hasMetLock) retryPermits.release(kind)
    })
  }

  /** Acquires a lease and opens its connection. */
  async function openLease(kind: Kind, waiter: Waiter, hasMetLock: boolean): Promise<Lease> {
    const begun = performance.now()
    const lease = await acquireLease(kind, waiter, hasMetLock)
    try {
      await lease.open(waiter.signal)
    } catch (error) {
      lease.close()
      throw error
    }
    recordWait(begun, waiter, observation)
    return lease
  }

  return {
    async read(waiter, sql, cells, mutex) {
      const { signal } = waiter
      const unlock = mutex === undefined ? undefined : await mutexes.lock([mutex], waiter)
      let hasMetLock = false
      const attempt = async () => {
        let lease: Lease | undefined
        try {
          lease = await openLease("read", waiter, hasMetLock)
          signal?.throwIfAborted()
          return (await lease.read(sql, cells, signal)).rows
        } catch (error) {
          const failure = engine.hasOtherMembers ? movedIfUndone(error, false) : error
          hasMetLock ||= meetsLock(failure)
          throw failure
        } finally {
          lease?.close()
        }
      }
      try {
        return await backoff(waiter, attempt)
      } catch (error) {
        throw storeError(error)
      } finally {
        unlock?.()
      }
    },

    async write(unit, work) {
      const { rows } = unit
      const lockedRows = engine.locksRows ? rows : wholeDatabase
      const unlock = lockedRows.length === 0 ? undefined : await mutexes.lock(lockedRows, unit)
      let lease: Lease | undefined
      let hasMetLock = false
      const release = async () => {
        const held = lease
        lease = undefined
        await held?.close()
      }
      try {
        return await work((once) =>
          backoff(unit, async () => {
            let mayBeDone = false
            try {
              lease ??= await openLease("write", unit, hasMetLock)
              mayBeDone = true
              return await once(lease)
            } catch (error) {
              const failure = engine.hasOtherMembers ? movedIfUndone(error, mayBeDone) : error
              hasMetLock ||= meetsLock(failure)
              if (retriedFailures.some((one) => failsBy(failure, one))) await release()
              throw failure
            }
          }),
        )
      } catch (error) {
        throw storeError(error)
      } finally {
        release().finally(unlock)
      }
    },

    async runJoint(unit, work) {
      const { rows } = unit
      let lockedRows: ReadonlySet<string> = new Set()
      let unlock = () => {}
      const lockAlso = async (more: readonly string[]) => {
        const all = [...lockedRows, ...more]
        unlock()
        unlock = () => {}
        lockedRows = new Set()
        unlock = await mutexes.lock(all, unit)
        lockedRows = new Set(all)
      }
      let hasMetLock = false
      let isExclusive = false
      /** Resolves when the transaction has ended in which the work was committed. */
      let ended: Promise<void> = Promise.resolve()
      /** Resolves when nothing is left of the attempts that failed. */
      let left: Promise<unknown> = Promise.resolve()
      const attempt = async () => {
        let participant: Participant | undefined
        const leave = async () => {
          const former = participant
          participant = undefined
          await former?.leave()
          if (former !== undefined) ended = former.ended
        }
        const joinOnce: Join = async (more, mayLeave, { isLong = false, readsBefore = false } = {}) => {
          const wanted = engine.locksRows ? [...rows, ...more] : wholeDatabase
          const missing = wanted.filter((row) => !lockedRows.has(row))
          let isStale = false
          if (missing.length > 0) {
            if (participant !== undefined) mayLeave()
            await leave()
            isStale = readsBefore && mutexes.areLocked(missing)
            await lockAlso(missing)
          }
          if (participant !== undefined) return participant
          const begun = performance.now()
          const acquire = () => acquireLease("write", unit, hasMetLock)
          participant = await groups.join(unit, acquire, isExclusive || isLong || isStale)
          recordWait(begun, unit, observation)
          return participant
        }
        let joining: Promise<unknown> | undefined
        try {
          return await work((...asked) => {
            const joined = joinOnce(...asked)
            joining = joined.catch(() => {})
            return joined
          })
        } catch (error) {
          isExclusive = true
          // What was committed although its answer was lost is not done twice: see the contract.
          const failure = engine.hasOtherMembers ? movedIfUndone(error, false) : error
          hasMetLock ||= meetsLock(failure)
          throw failure
        } finally {
          // The work may have been given up while it was still joining.
          await joining
          const leaving = leave()
          left = Promise.all([left, leaving])
          // A caller that has given up does not wait for the other participants.
          if (!unit.signal?.aborted) await leaving
        }
      }
      const attemptOrRepeat = async () => {
        try {
          return await attempt()
        } catch (error) {
          if (!(error instanceof RolledBack)) throw error
          return attempt()
        }
      }
      try {
        return await backoff(unit, attemptOrRepeat)
      } catch (error) {
        throw storeError(error)
      } finally {
        // A caller that gave up may still have locks in the shared transaction, or changes if its work was done.
        left.then(() => ended).finally(unlock)
      }
    },

    async runOutside(work) {
      await permits.acquire("write", undefined)
      try {
        return await work()
      } catch (error) {
        throw storeError(error)
      } finally {
        permits.release("write")
      }
    },

    load: () => ({ limit: concurrency, active: permits.held, waiting: waiters.size }),

    close: waiters.close,
  }
}

const retriedFailures = ["conflict", "locked", "moved"] as const

/** Turns a failure into "moved" where nothing was done, and another member of the cluster may do it. */
function movedIfUndone(error: unknown, mayBeDone: boolean): unknown {
  const isUndone = failsBy(error, "read-only") || (failsBy(error, "unavailable") && !mayBeDone)
  return isUndone ? new StatementError("moved", error.message, error.code) : error
}

function meetsLock(failure: unknown): boolean {
  return failsBy(failure, "conflict") || failsBy(failure, "locked")
}

/** A shorter wait for a connection has no span, in milliseconds. */
const shortestSpanMs = 1

function recordWait(begun: number, { spans = [] }: Waiter, { observer, tracer }: Observation = {}): void {
  const ms = performance.now() - begun
  observer?.waited(ms)
  if (ms < shortestSpanMs) return
  for (const span of spans) {
    const context = trace.setSpan(ROOT_CONTEXT, span)
    tracer?.startSpan("wait for a connection", { startTime: begun }, context).end()
  }
}
