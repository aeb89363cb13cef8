import type { DataSource, QueryRunner } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import type { Caller, Waiter } from "../store.js"
import { type DatabaseTime, databaseTime } from "./database-time.js"
import type { Engine, SqlEngine } from "./engine/engine.js"
import type { DatabaseLoad, DatabaseObserver, Observation } from "./engine/observer.js"
import { PooledConnection } from "./engine/pooled-connection.js"
import { type Aside, databasePing } from "./ping.js"
import type { CoalesceOptions } from "./query/batch-loader.js"
import { type Cell, makeChanges, type Statement, type Statements } from "./query/statement.js"
import { storeError } from "./query/statement-error.js"
import type { Dialect } from "./schema/dialect.js"
import { entities } from "./schema/entities.js"
import type { OnUnreadable } from "./schema/row-reader.js"
import { type Tables, tables } from "./schema/tables.js"
import type { StepOptions } from "./transaction/access.js"
import { connectionPermits } from "./transaction/connection-permits.js"
import { commitTogether, type GroupTransaction } from "./transaction/group-commit.js"
import { queue } from "./transaction/queue.js"
import { type BackoffOptions, backoff } from "./transaction/retry.js"
import { type UnitOfWork, type UnitsOfWork, unitsOfWork } from "./transaction/unit-of-work.js"

/** Who writes: a caller, or the service itself, which has no open transaction. */
export type Writer = Waiter & Pick<Caller, "transaction">

/** Runs statements that read. Each has a connection of its own while it runs. */
export type Reads = Pick<Statements, "read">

/**
 * An open database. Every unit of work has a connection of its own; further units wait, and tenants take turns. Errors that
 * the work throws are passed on unchanged, except failures of the database, which become StoreErrors.
 *
 * Work that meets a lock of another transaction is retried until the caller's signal aborts. It holds no connection between two
 * tries. `rows` are the rows that the work locks, by the names that `Table.nameOf` gives them: this process runs one writer of a row
 * at a time.
 */
export interface Database extends Pick<DatabaseTime, "now" | "clockOffsetMs"> {
  readonly engine: Engine
  readonly dialect: Dialect
  readonly dataSource: DataSource
  readonly tables: Tables
  /** The number of units of work that may run at the same time. */
  readonly concurrency: number
  /** How lookups by key share statements. `limit` is a power of two. */
  readonly lookups: CoalesceOptions
  /**
   * Returns what reads for a waiter.
   *
   * @param purpose `scan` for statements that may examine many rows. Default: `read`.
   */
  reads(waiter: Waiter, purpose?: "read" | "scan"): Reads
  /** Does the same for reads that may return somewhat older data: from the read replica, if there is one and it answers. */
  olderReads(waiter: Waiter, purpose?: "read" | "scan"): Reads
  /** Runs statements that are committed one by one. A statement that conflicts with another transaction is retried. */
  writes<T>(
    waiter: Writer,
    rows: readonly string[],
    work: (sql: Statements) => Promise<T>,
    options?: StepOptions,
  ): Promise<T>
  /** Runs statements that are committed together. When they conflict with another transaction, all of the work runs again. */
  transaction<T>(
    waiter: Writer,
    rows: readonly string[],
    work: (sql: Statements) => Promise<T>,
    options?: StepOptions,
  ): Promise<T>
  /**
   * Runs work whose `writes` and transactions are committed together, if they pass the transaction as that of their caller. When they
   * conflict with another transaction, all of the work runs again. Between the writes it must not use `reads`.
   *
   * @param isRepeatable Whether the work also runs again, in a cluster, if it may have been committed, because the connection was lost
   * during the commit. It has to write something unique, so that the second run fails if the first was committed. Default: no.
   */
  together<T>(
    waiter: Waiter,
    rows: readonly string[],
    work: (transaction: GroupTransaction) => Promise<T>,
    isRepeatable?: boolean,
  ): Promise<T>
  /**
   * Reads on a connection that is reserved for it, one statement at a time and outside of the queue of the calls, because
   * authentication must not wait for calls that are already admitted.
   */
  readAside<Values>(waiter: Waiter, statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /** Runs work that needs a query runner of TypeORM, such as a migration, on a connection that is closed afterwards. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Does the same while it holds a lock that excludes other processes, for changes of the tables. The work may run more than once. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  readonly observer: DatabaseObserver | undefined
  load(): DatabaseLoad
  /** Throws DATABASE_UNAVAILABLE when the database does not answer, accepts no writes, or lacks a table. Reads its clock. */
  ping(waiter: Waiter): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions extends Pick<BackoffOptions, "random" | "onRetry" | "longestWaitMs">, Observation {
  /** The most units of work that may wait for a connection. */
  queueLimit: number
  /** Called for a row that was left out of a list, because it cannot be read. */
  onUnreadable?: OnUnreadable | undefined
  /** The read replica, for reads that may be somewhat older. */
  reader: SqlEngine | undefined
}

/** The most reads that wait for the reserved connection. Those of API keys are few, and each has a timeout. */
const maxWaitingAside = 100

export function database(engine: SqlEngine, { queueLimit, reader, ...options }: DatabaseOptions): Database {
  const retrying = backoff(options)
  const observation: Observation = { observer: options.observer, tracer: options.tracer }
  const units = unitsOfWork(engine, { queueLimit, backoff: retrying, observation })
  const olderUnits = reader && unitsOfWork(reader, { queueLimit, backoff: retrying, observation })
  const { onUnreadable = () => {} } = options
  const allTables = tables(engine, entities(engine.dialect.types), onUnreadable)
  const asides = queue(maxWaitingAside)
  const reserved = connectionPermits(asides, 1)
  let closing: Promise<void> | undefined

  const aside: Aside = async (statement, values, signal) => {
    const connection = new PooledConnection(engine, observation)
    try {
      await connection.open(signal)
      return (await connection.read(statement.sql, statement.cells(values), signal)).rows
    } finally {
      // Not awaited: a connection that is still being opened must not delay a caller that has given up.
      connection.close()
    }
  }

  const time = databaseTime()

  const unitOf = (
    purpose: UnitOfWork["purpose"],
    { signal, tenant, spans }: Waiter,
    rows?: readonly string[],
  ): UnitOfWork => ({ purpose, rows, signal, tenant, spans })

  /** Runs work in a transaction on a connection. */
  async function committed<T>(connection: PooledConnection, { signal }: Waiter, work: () => Promise<T>): Promise<T> {
    await connection.begin(signal)
    try {
      const result = await work()
      await connection.commit()
      return result
    } catch (error) {
      await connection.rollBack()
      throw error
    }
  }

  /** Runs a step of the work on a connection. `isSeveral`: it has several statements, which have to be committed together. */
  type Run = <T>(isSeveral: boolean, step: (connection: PooledConnection) => Promise<T>) => Promise<T>

  const statementsOf = (run: Run, { signal }: Waiter): Statements => ({
    read: async ({ sql, cells }, values) =>
      (await run(false, (connection) => connection.read(sql, cells(values), signal))).rows,
    write: ({ sql, cells }, values, also = []) =>
      run(also.length > 0, async (connection) => {
        const { matched } = await connection.run(sql, cells(values))
        if (matched > 0) await makeChanges(also, (...statement) => connection.run(...statement))
        return matched
      }),
    change: (changes) =>
      run(changes.length > 1, (connection) => makeChanges(changes, (...statement) => connection.run(...statement))),
  })

  const readsOf =
    (all: UnitsOfWork): Database["reads"] =>
    (waiter, purpose = "read") => {
      const unit = unitOf(purpose, waiter)
      const { signal } = unit
      return {
        read: async ({ sql, cells }, values) =>
          all.run(unit, (attempt) =>
            attempt(async (access) => {
              const connection = await access.connection()
              signal?.throwIfAborted()
              return (await connection.read(sql, cells(values), signal)).rows
            }),
          ),
      }
    }
  const reads = readsOf(units)
  const olderReads = olderUnits && readsOf(olderUnits)

  return {
    engine: engine.engine,
    dialect: engine.dialect,
    dataSource: engine.dataSource,
    tables: allTables,
    concurrency: engine.concurrency,
    lookups: engine.lookups,

    reads,

    olderReads: (waiter, purpose) => {
      const primary = reads(waiter, purpose)
      const replica = olderReads?.(waiter, purpose)
      if (replica === undefined) return primary
      return {
        async read(statement, values) {
          try {
            return await replica.read(statement, values)
          } catch (error) {
            if (!(error instanceof StoreError) || error.reason !== "DATABASE_UNAVAILABLE") throw error
            return primary.read(statement, values)
          }
        },
      }
    },

    writes(writer, rows, work, options) {
      const { signal, transaction } = writer
      // Every transaction is one of `together`: see Transaction.
      if (transaction !== undefined) return (transaction as GroupTransaction).run(rows, work, options)
      const unit = unitOf("write", writer, rows)
      return units.run(unit, (attempt) => {
        const run: Run = (isSeveral, step) =>
          attempt(async (access) => {
            const connection = await access.connection()
            signal?.throwIfAborted()
            return isSeveral ? committed(connection, unit, () => step(connection)) : step(connection)
          })
        return work(statementsOf(run, unit))
      })
    },

    transaction(writer, rows, work, options) {
      const { signal, transaction } = writer
      if (transaction !== undefined) return (transaction as GroupTransaction).run(rows, work, options)
      const unit = unitOf("write", writer, rows)
      return units.run(unit, (attempt) =>
        attempt(async (access) => {
          const connection = await access.connection()
          return committed(connection, unit, async () => {
            const run: Run = async (_, step) => {
              signal?.throwIfAborted()
              return step(connection)
            }
            const result = await work(statementsOf(run, unit))
            signal?.throwIfAborted()
            return result
          })
        }),
      )
    },

    together: (waiter, rows, work, isRepeatable) =>
      units.run(unitOf("write", waiter), (attempt) => commitTogether(attempt, rows, work, isRepeatable)),

    async readAside({ signal }, statement, values) {
      await reserved.acquire("read", { signal })
      try {
        return await aside(statement, values, signal)
      } catch (error) {
        throw storeError(error)
      } finally {
        reserved.release("read", {})
      }
    },

    withQueryRunner: (work) => units.runOutside(() => engine.withQueryRunner(work)),

    withSchemaLock: (work) => units.runOutside(() => retrying({}, () => engine.withSchemaLock(work))),

    observer: observation.observer,

    load: units.load,

    now: time.now,
    clockOffsetMs: time.clockOffsetMs,
    ping: databasePing({ engine, tables: allTables, aside, time }),

    close() {
      units.close()
      olderUnits?.close()
      asides.close()
      closing ??= Promise.all([engine.close(), reader?.close()]).then(() => {})
      return closing
    },
  }
}
