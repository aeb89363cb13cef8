import { ROOT_CONTEXT, trace } from "@opentelemetry/api"
import type { Waiter } from "../../store.js"
import type { SqlEngine } from "../engine/engine.js"
import type { DatabaseLoad, Observation } from "../engine/observer.js"
import { PooledConnection } from "../engine/pooled-connection.js"
import { failsBy, StatementError, storeError } from "../query/statement-error.js"
import type { Access, Attempt } from "./access.js"
import { connectionPermits, type Purpose } from "./connection-permits.js"
import { Group } from "./group.js"
import { queue } from "./queue.js"
import type { Backoff } from "./retry.js"
import { rowMutexes } from "./row-mutexes.js"

/*
 * Tenants and keys take turns at the concurrency limits only, where a call waits before it begins. Then it waits in the order of arrival.
 * Each place has a bound and a metric:
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
}

/** One read, one write, or several writes that are committed together. */
export interface UnitOfWork extends Waiter {
  readonly purpose: "read" | "scan" | "write"
  /**
   * Names of the rows that it changes, or locks by its foreign keys. No two units of work that name the same row run at the same
   * time. Default: the work locks its rows while it runs.
   */
  readonly rows?: readonly string[] | undefined
}

export interface UnitsOfWork {
  /**
   * Runs a unit of work: locks its rows, and runs what the work attempts on a connection. It keeps the connection from one attempt to
   * the next. Whatever the work throws is turned into an error of the store.
   */
  run<T>(unit: UnitOfWork, work: (attempt: Attempt<Group>) => Promise<T>): Promise<T>
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

export function unitsOfWork(engine: SqlEngine, { queueLimit, backoff, observation = {} }: UnitOptions): UnitsOfWork {
  const waiters = queue(queueLimit)
  const permits = connectionPermits<Group>(waiters, engine.concurrency)
  const mutexes = rowMutexes(waiters, engine.locksRows ? rowWaitersOf(queueLimit) : queueLimit)

  /** Waits for a permit and opens a connection, or returns a transaction to join. */
  async function connect(purpose: Purpose, waiter: Waiter): Promise<PooledConnection | Group> {
    const begun = performance.now()
    const { signal, spans } = waiter
    const group = await permits.acquire(purpose, waiter)
    if (group !== undefined) {
      recordWait(begun, waiter, observation)
      return group
    }
    // After an abort the permit stays held until the connection that was being opened has been returned.
    const connection = new PooledConnection(engine, observation, spans, () => permits.release(purpose, waiter))
    try {
      await connection.open(signal)
    } catch (error) {
      if (purpose === "shared") permits.close()
      connection.close()
      throw error
    }
    recordWait(begun, waiter, observation)
    return connection
  }

  return {
    async run(unit, work) {
      const { purpose, signal } = unit
      let lockedRows: ReadonlySet<string> = new Set()
      let unlock = () => {}
      let connection: PooledConnection | undefined
      let hasMetLock = false
      const kept: Promise<unknown>[] = []
      const namesOf = (rows: readonly string[]) => (engine.locksRows ? rows : wholeDatabase)
      const missing = (rows: readonly string[]) => namesOf(rows).filter((row) => !lockedRows.has(row))
      const release = async () => {
        const former = connection
        connection = undefined
        await former?.close()
      }

      const access: Access<Group> = {
        waiter: unit,
        needs: (rows) => missing(rows).length > 0,
        async lock(rows) {
          const all = [...lockedRows, ...missing(rows)]
          const isWaiting = mutexes.areLocked(missing(rows))
          unlock()
          unlock = () => {}
          lockedRows = new Set()
          unlock = await mutexes.lock(all, unit)
          lockedRows = new Set(all)
          return isWaiting
        },
        keepUntil: (settled) => kept.push(settled),
        async connection() {
          connection ??= (await connect(hasMetLock ? "retry" : purpose, unit)) as PooledConnection
          return connection
        },
        async join(mayShare) {
          // A transaction of one unit is not a shared one: it would never say that the next one may begin.
          const limit = mayShare && engine.locksRows ? engine.lookups.limit : 1
          const joined = await connect(limit > 1 ? "shared" : hasMetLock ? "retry" : purpose, unit)
          return joined instanceof Group ? joined : new Group(joined, permits, limit)
        },
      }

      const attempt: Attempt<Group> = (once, isRepeatable = false) =>
        backoff(unit, async () => {
          try {
            return await once(access)
          } catch (error) {
            const failure = engine.hasOtherMembers ? movedIfPossible(error, isRepeatable) : error
            hasMetLock ||= failsBy(failure, "conflict") || failsBy(failure, "locked")
            if (retriedFailures.some((one) => failsBy(failure, one))) await release()
            throw failure
          }
        })

      try {
        signal?.throwIfAborted()
        if (unit.rows !== undefined && access.needs(unit.rows)) await access.lock(unit.rows)
        return await work(attempt)
      } catch (error) {
        throw storeError(error)
      } finally {
        // Not awaited. A caller that gave up may still have locks in a shared transaction, or changes if its work was done.
        const isOver = kept.length === 0 ? release() : Promise.allSettled([release(), ...kept])
        isOver.finally(unlock)
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

const retriedFailures = ["conflict", "locked", "moved"] as const

/** Turns a failure into "moved" where nothing was done, or it may be done twice, and another member of the cluster may do it. */
function movedIfPossible(error: unknown, isRepeatable: boolean): unknown {
  const isUndone = failsBy(error, "read-only") || failsBy(error, "unavailable")
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
