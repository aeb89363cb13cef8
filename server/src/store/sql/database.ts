import type { DataSource, ObjectLiteral, QueryRunner, SelectQueryBuilder } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import { orAborted } from "../../util/abort.js"
import type { Caller, Waiter } from "../store.js"
import type { SqlEngine } from "./engine/engine.js"
import type { DatabaseLoad, DatabaseObserver, Observation } from "./engine/observer.js"
import { PooledConnection } from "./engine/pooled-connection.js"
import type { CoalesceOptions } from "./query/batch-loader.js"
import { type Cell, makeChanges, type Statement, type Statements } from "./query/statement.js"
import { failsBy, storeError } from "./query/statement-error.js"
import type { Engine } from "./schema/column-types.js"
import { entities } from "./schema/entities.js"
import { type Tables, tables } from "./schema/table.js"
import type { StepOptions } from "./transaction/access.js"
import { commitTogether, type GroupTransaction } from "./transaction/group-commit.js"
import { type BackoffOptions, backoff } from "./transaction/retry.js"
import { type UnitsOfWork, unitsOfWork } from "./transaction/unit-of-work.js"

/** Who writes: a caller, or the service itself, which has no open transaction. */
export type Writer = Waiter & Pick<Caller, "transaction">

/** Runs statements that read. Each has a connection of its own while it runs. */
export type Reads = Pick<Statements, "read">

/**
 * An open database. Every unit of work has a connection of its own; further units wait in their order of arrival. Errors that
 * the work throws are passed on unchanged, except failures of the database, which become StoreErrors.
 *
 * Work that meets a lock of another transaction is retried until the caller's signal aborts. It holds no connection between two
 * tries. `rows` are the rows that the work locks, by the names that `Table.nameOf` gives them: this process runs one writer of a row
 * at a time.
 */
export interface Database {
  readonly engine: Engine
  readonly dataSource: DataSource
  readonly tables: Tables
  /** How lookups by key share statements. `limit` is a power of two. */
  readonly lookups: CoalesceOptions
  /**
   * Returns what reads for a waiter.
   *
   * @param mutex Reads that name the same mutex run one at a time and hold no connection while they wait. For statements that take long.
   */
  reads(waiter: Waiter, mutex?: string): Reads
  /** Does the same for reads that may return somewhat older data: from the read replica, if there is one and it answers. */
  olderReads(waiter: Waiter, mutex?: string): Reads
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
   * conflict with another transaction, all of the work runs again. In a cluster it also runs again when the connection is lost, although
   * it may have been committed. It therefore has to write something unique, so that the second run fails if the first was
   * committed. Between the writes it must not use `reads`.
   */
  together<T>(waiter: Waiter, rows: readonly string[], work: (transaction: GroupTransaction) => Promise<T>): Promise<T>
  /** Reads on a reserved connection, outside of the queue, because authentication must not wait for calls that are already admitted. */
  readAside<Values>(waiter: Waiter, statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /** Runs work that needs a query runner of TypeORM, such as a migration, on a connection that is closed afterwards. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Does the same while it holds a lock that excludes other processes, for changes of the tables. The work may run more than once. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  readonly observer: DatabaseObserver | undefined
  load(): DatabaseLoad
  /** Throws DATABASE_UNAVAILABLE when the database does not answer, accepts no writes, or lacks a table. */
  ping(waiter: Waiter): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions extends Pick<BackoffOptions, "random" | "onRetry" | "longestWaitMs">, Observation {
  /** The most units of work that may wait for a connection. */
  queueLimit: number
  /** The read replica, for reads that may be somewhat older. */
  reader: SqlEngine | undefined
}

export function database(engine: SqlEngine, { queueLimit, reader, ...options }: DatabaseOptions): Database {
  // Work that waits for a retry was admitted before and is in no line.
  const retrying = backoff({ ...options, limit: engine.concurrency + queueLimit })
  const observation: Observation = { observer: options.observer, tracer: options.tracer }
  const units = unitsOfWork(engine, { queueLimit, backoff: retrying, observation })
  const olderUnits = reader && unitsOfWork(reader, { queueLimit, backoff: retrying, observation })
  const allTables = tables(engine.dataSource, entities(engine.engine), engine.lock)
  let pinging: Promise<void> | undefined
  let closing: Promise<void> | undefined

  /** A DELETE that never matches a row, because no tenant has this name. It shows whether the database accepts writes, and changes nothing. */
  const probe = allTables.verificationTokens.delete
  const noRow = { tenant: "", identifier: "", tokenHash: Buffer.alloc(32) }
  /** Names every table with its columns, and reads no row. */
  const shape: Statement<void> = {
    sql: `SELECT ${Object.values(allTables).map(existenceOf).join(", ")}`,
    cells: () => [],
  }

  /** Runs a statement that may run twice on a connection beside those of the units of work. */
  async function aside<Values>(statement: Statement<Values>, values: Values, signal?: AbortSignal): Promise<Cell[][]> {
    const connection = new PooledConnection(engine, observation)
    try {
      await connection.open(signal)
      return (await connection.read(statement.sql, statement.cells(values), signal)).rows
    } finally {
      // Not awaited: a connection that is still being opened must not delay a caller that has given up.
      connection.close()
    }
  }

  async function pingOnce() {
    try {
      await aside(probe, noRow)
      await aside(shape, undefined)
    } catch (cause) {
      // On SQLite any writer locks the whole database. On the other engines this means that the whole table is locked.
      if (failsBy(cause, "locked") && !engine.locksRows) return
      if (failsBy(cause, "read-only")) throw storeError(cause)
      if (failsBy(cause, "fault")) {
        throw new StoreError("DATABASE_UNAVAILABLE", `the tables cannot be used: ${cause.message}`, { cause })
      }
      throw new StoreError("DATABASE_UNAVAILABLE", "the database does not answer", { cause })
    }
  }

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
    ({ signal, whileWaiting, spans }, mutex) => ({
      read: async ({ sql, cells }, values) =>
        all.run({ purpose: "read", rows: mutex === undefined ? [] : [mutex], signal, whileWaiting, spans }, (attempt) =>
          attempt(async (access) => {
            const connection = await access.connection()
            signal?.throwIfAborted()
            return (await connection.read(sql, cells(values), signal)).rows
          }, true),
        ),
    })
  const reads = readsOf(units)
  const olderReads = olderUnits && readsOf(olderUnits)

  return {
    engine: engine.engine,
    dataSource: engine.dataSource,
    tables: allTables,
    lookups: engine.lookups,

    reads,

    olderReads: (waiter, mutex) => {
      const primary = reads(waiter, mutex)
      const replica = olderReads?.(waiter, mutex)
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

    writes({ signal, whileWaiting, transaction, spans }, rows, work, options) {
      // Every transaction is one of `together`: see Transaction.
      if (transaction !== undefined) return (transaction as GroupTransaction).run(rows, work, options)
      const unit = { purpose: "write", rows, signal, whileWaiting, spans } as const
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

    transaction({ signal, whileWaiting, transaction, spans }, rows, work, options) {
      if (transaction !== undefined) return (transaction as GroupTransaction).run(rows, work, options)
      const unit = { purpose: "write", rows, signal, whileWaiting, spans } as const
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

    together: ({ signal, whileWaiting, spans }, rows, work) =>
      units.run({ purpose: "write", signal, whileWaiting, spans }, (attempt) => commitTogether(attempt, rows, work)),

    async readAside({ signal }, statement, values) {
      try {
        return await aside(statement, values, signal)
      } catch (error) {
        throw storeError(error)
      }
    },

    withQueryRunner: (work) => units.runOutside(() => engine.withQueryRunner(work)),

    withSchemaLock: (work) => units.runOutside(() => retrying({}, () => engine.withSchemaLock(work))),

    observer: observation.observer,

    load: units.load,

    async ping({ signal }) {
      signal?.throwIfAborted()
      // All callers share one ping at a time, because the pool has only one connection beyond the permits.
      pinging ??= pingOnce().finally(() => {
        pinging = undefined
      })
      await orAborted(pinging, signal)
    },

    close() {
      units.close()
      olderUnits?.close()
      closing ??= Promise.all([engine.close(), reader?.close()]).then(() => {})
      return closing
    },
  }
}

/** Returns an expression that fails if the table or one of its columns does not exist. */
function existenceOf(table: { selectFrom(alias: string): SelectQueryBuilder<ObjectLiteral> }): string {
  return `EXISTS (${table.selectFrom("t").where("1 = 0").getQuery()})`
}
