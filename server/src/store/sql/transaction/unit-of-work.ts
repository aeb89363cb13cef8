import { ROOT_CONTEXT, trace } from "@opentelemetry/api"
import type { Caller, Waiter } from "../../store.js"
import type { SqlEngine } from "../engine/engine.js"
import type { DatabaseLoad, Observation } from "../engine/observer.js"
import { PooledConnection } from "../engine/pooled-connection.js"
import type { Cell } from "../query/statement.js"
import { failsBy, StatementError, storeError } from "../query/statement-error.js"
import { connectionPermits, type Purpose } from "./connection-permits.js"
import { Group, RolledBack } from "./group.js"
import { GroupTransaction, type Unit } from "./group-commit.js"
import { queue } from "./queue.js"
import type { Backoff } from "./retry.js"
import { heldRows, rowMutexes } from "./row-mutexes.js"

/*
 * Tenants and keys take turns at the concurrency limits, where a call waits before it begins, and for turns of the event loop, where one
 * piece of the work of a call waits (util/turn-limit.ts). Here it waits in the order of arrival. Each place has a bound and a metric:
 *
 *   place                        bound                                              metric
 *   ---------------------------  -------------------------------------------------  ------------------------------------
 *   a concurrency limit          overload/concurrency-limit.ts                      authwire_calls_waiting
 *   a row: another unit of this  rowWaitersOf for one row, the queue's limit for    authwire_database_row_waiters (waiters),
 *   process has locked it, or    all waiters; the pauses of retries: the            authwire_database_retries_total (pauses)
 *   another transaction has      concurrency limits
 *   a connection, or a shared    the queue's limit for all waiters; permits for     db_client_connection_pending_requests,
 *   transaction to join          each purpose (connection-permits.ts)               db_client_connection_wait_time_seconds
 *
 * A call keeps its slot in the concurrency limit while it waits. Reads, writes and tokens have limits of their own, so that one locked
 * row or table takes slots of writes only.
 */

export interface UnitOptions {
  /** The most units of work that may wait. */
  queueLimit: number
  backoff: Backoff
  observation?: Observation
  /** Called for each failure of a statement of a call. */
  onFailure?: ((error: unknown) => void) | undefined
}

/** Units of work: reads of one statement, and writes. Failures of the database become errors of the store. */
export interface UnitsOfWork {
  /** Runs a statement that waits for no lock, on a connection of its own. */
  read(purpose: "read" | "scan", waiter: Waiter, sql: string, cells: Cell[]): Promise<Cell[][]>
  /**
   * Runs work in a transaction that it may share with other calls; see group-commit.ts. It locks these rows with its first step. When it
   * conflicts with another transaction, or fails by one, all of it runs again.
   *
   * @param isRepeatable Whether it also runs again, in a cluster, if it may have been committed, because the connection was lost during
   * the commit. It has to write something unique, so that the second run fails if the first was committed. Default: no.
   */
  write<T>(
    waiter: Waiter | Caller,
    rows: readonly string[],
    work: (transaction: GroupTransaction) => Promise<T>,
    isRepeatable?: boolean,
  ): Promise<T>
  /** Runs work that opens a connection of its own. It counts as a writer. */
  runOutside<T>(work: () => Promise<T>): Promise<T>
  load(): DatabaseLoad
  /** Rejects all waiters, and every later one. */
  close(): void
}

/** The one row of an engine that locks the whole database: all writers wait in one line. */
const wholeDatabase = ["everything"]

/** How many of the waiters may wait for one row: a tenth of them, or all where the queue is short. */
export const rowWaitersOf = (queueLimit: number): number =>
  Math.max(Math.ceil(queueLimit / 10), Math.min(queueLimit, 16))

export function unitsOfWork(
  engine: SqlEngine,
  { queueLimit, backoff, observation = {}, onFailure }: UnitOptions,
): UnitsOfWork {
  const waiters = queue(queueLimit)
  const permits = connectionPermits<Group>(waiters, engine.concurrency, engine.turn !== undefined)
  const mutexes = rowMutexes(waiters, engine.locksRows ? rowWaitersOf(queueLimit) : queueLimit)
  const namesOf = (rows: readonly string[]) => (engine.locksRows ? rows : wholeDatabase)

  /** Opens a connection for which there is a permit. */
  async function open(purpose: Purpose, waiter: Waiter, begun: number): Promise<PooledConnection> {
    let opened: number | undefined
    // After an abort the permit stays held until the connection that was being opened has been returned.
    const release = () => permits.release(purpose, waiter, opened === undefined ? 0 : performance.now() - opened)
    const connection = new PooledConnection(engine, observation, waiter.spans, release)
    try {
      await connection.open(waiter.signal)
    } catch (error) {
      if (purpose === "shared") permits.close()
      connection.close()
      throw error
    }
    opened = performance.now()
    recordWait(begun, waiter, observation)
    return connection
  }

  /** Waits for a permit for a connection that is not shared. */
  async function connect(purpose: Exclude<Purpose, "shared">, waiter: Waiter): Promise<PooledConnection> {
    const begun = performance.now()
    await permits.acquire(purpose, waiter)
    return open(purpose, waiter, begun)
  }

  /** Returns a transaction to join, or begins one. */
  async function share(waiter: Waiter): Promise<Group> {
    const begun = performance.now()
    const group = await permits.acquire("shared", waiter)
    if (group === undefined) return new Group(await open("shared", waiter, begun), permits, engine.lookups.limit)
    recordWait(begun, waiter, observation)
    return group
  }

  /** Runs something, and runs it again while it conflicts with other transactions; see Backoff. */
  async function retried<T>(
    waiter: Waiter,
    once: (hasMetLock: boolean) => Promise<T>,
    isRepeatable = false,
  ): Promise<T> {
    let hasMetLock = false
    try {
      waiter.signal?.throwIfAborted()
      return await backoff(waiter, async () => {
        try {
          return await once(hasMetLock)
        } catch (error) {
          if ("tenant" in waiter) onFailure?.(error)
          hasMetLock ||= failsBy(error, "conflict") || failsBy(error, "locked")
          throw engine.hasOtherMembers ? movedIfPossible(error, isRepeatable) : error
        }
      })
    } catch (error) {
      throw storeError(error)
    }
  }

  return {
    read: (purpose, waiter, sql, cells) =>
      retried(waiter, async (hasMetLock) => {
        const connection = await connect(hasMetLock ? "retry" : purpose, waiter)
        try {
          waiter.signal?.throwIfAborted()
          return (await connection.read(sql, cells, waiter.signal)).rows
        } finally {
          connection.close()
        }
      }),

    async write(waiter, rows, work, isRepeatable) {
      const held = heldRows(mutexes, waiter, namesOf)
      const kept: Promise<unknown>[] = []
      // Work for no tenant, such as the cleanup, may take long and delays no call. Where a write locks the database, nothing is shared.
      let mayShare = "tenant" in waiter && engine.locksRows
      try {
        return await retried(
          waiter,
          async (hasMetLock) => {
            for (;;) {
              const unit: Unit = {
                waiter,
                rows: held,
                async join(isAlone) {
                  if (mayShare && !isAlone) return share(waiter)
                  return new Group(await connect(hasMetLock ? "retry" : "write", waiter), permits, 1)
                },
              }
              const transaction = new GroupTransaction(unit, rows)
              try {
                const result = await work(transaction)
                await transaction.commit()
                return result
              } catch (error) {
                // Another unit has failed. This one runs again at once, by itself.
                if (!(mayShare && error instanceof RolledBack)) throw error
              } finally {
                mayShare = false
                const over = transaction.leave()
                kept.push(over)
                // A caller that has given up does not wait for the other units.
                if (!waiter.signal?.aborted) await over
              }
            }
          },
          isRepeatable,
        )
      } finally {
        // Not awaited. A caller that gave up may still have locks in a shared transaction, or changes if its work was done. Who arrives
        // while the tenant rests is in the line for the rows, where tenants take turns.
        if (kept.length === 0) held.unlock()
        else
          Promise.allSettled(kept)
            .then(() => permits.restOf(waiter))
            .finally(held.unlock)
      }
    },

    async runOutside(work) {
      await permits.acquire("write", {})
      try {
        return await work()
      } catch (error) {
        throw storeError(error)
      } finally {
        permits.release("write", {})
      }
    },

    load: () => ({
      limit: engine.concurrency,
      active: permits.held,
      waiting: permits.waiting,
      waitingForRows: waiters.size - permits.waiting,
    }),

    close: waiters.close,
  }
}

/** Turns a failure into "moved" where nothing was done, or it may be done twice, and another member of the cluster may do it. */
function movedIfPossible(error: unknown, isRepeatable: boolean): unknown {
  const isUndone = failsBy(error, "read-only") || failsBy(error, "full") || failsBy(error, "unavailable")
  const mayMove = isUndone || (isRepeatable && failsBy(error, "unanswered"))
  return mayMove ? new StatementError("moved", error.message, error.code) : error
}

/** A shorter wait for a connection has no span, in milliseconds. */
const shortestSpanMs = 1

function recordWait(begun: number, { spans = [] }: Waiter, { observer, tracer }: Observation): void {
  const ms = performance.now() - begun
  observer?.waited(ms)
  if (ms < shortestSpanMs) return
  for (const span of spans) {
    const context = trace.setSpan(ROOT_CONTEXT, span)
    tracer?.startSpan("wait for a connection", { startTime: begun }, context).end()
  }
}
