import type { DataSource, QueryRunner } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import { orAborted } from "../../util/abort.js"
import type { Waiter } from "../store.js"
import type { Connection, SqlEngine } from "./engine/engine.js"
import { Lease } from "./engine/lease.js"
import type { DatabaseLoad, DatabaseObserver, Observation } from "./engine/observer.js"
import type { CoalesceOptions } from "./query/batch-loader.js"
import { type Cell, type Change, makeChanges, type Statement, type Statements } from "./query/statement.js"
import { failsBy, storeError } from "./query/statement-error.js"
import type { Engine } from "./schema/column-types.js"
import { entities } from "./schema/entities.js"
import { type Tables, tables } from "./schema/table.js"
import { JointUnit } from "./transaction/joint-unit.js"
import { type BackoffOptions, backoff } from "./transaction/retry.js"
import { type JoinOptions, unitsOfWork } from "./transaction/unit-of-work.js"

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
    waiter: Waiter,
    rows: readonly string[],
    work: (sql: Statements) => Promise<T>,
    options?: JoinOptions,
  ): Promise<T>
  /** Runs statements that are committed together. When they conflict with another transaction, all of the work runs again. */
  transaction<T>(
    waiter: Waiter,
    rows: readonly string[],
    work: (sql: Statements) => Promise<T>,
    options?: JoinOptions,
  ): Promise<T>
  /**
   * Runs work whose `writes` and transactions are committed together, if they pass the unit as that of their waiter. When they
   * conflict with another transaction, all of the work runs again. In a cluster it also runs again when the connection is lost, although
   * it may have been committed. It therefore has to write something unique, so that the second run fails if the first was
   * committed. Between the writes it must not use `reads`.
   */
  together<T>(waiter: Waiter, rows: readonly string[], work: (unit: JointUnit) => Promise<T>): Promise<T>
  /** Reads on a reserved connection, outside of the queue, because authentication must not wait for calls that are already admitted. */
  readAside<Values>(waiter: Waiter, statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /** Runs work that needs a query runner of TypeORM, such as a migration, on a connection that is closed afterwards. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Does the same while it holds a lock that excludes other processes, for changes of the tables. The work may run more than once. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  readonly observer: DatabaseObserver | undefined
  load(): DatabaseLoad
  /** Throws DATABASE_UNAVAILABLE when the database does not answer or accepts no writes. */
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

  async function pingOnce() {
    const lease = new Lease(engine, observation)
    try {
      await lease.open()
      await lease.read(probe.sql, probe.cells(noRow))
    } catch (cause) {
      // On SQLite any writer locks the whole database. On the other engines this means that the whole table is locked.
      if (failsBy(cause, "locked") && !engine.locksRows) return
      if (failsBy(cause, "read-only")) throw storeError(cause)
      throw new StoreError("DATABASE_UNAVAILABLE", "the database does not answer", { cause })
    } finally {
      await lease.close()
    }
  }

  /** Runs work in a transaction on the lease's connection. */
  async function committed<T>(
    lease: Lease,
    signal: AbortSignal | undefined,
    work: (lease: Lease) => Promise<T>,
  ): Promise<T> {
    await lease.read(engine.begin, undefined, signal)
    const { connection } = lease
    try {
      const result = await work(lease)
      await connection.run("COMMIT")
      return result
    } catch (error) {
      await connection.run("ROLLBACK").catch(() => connection.discard())
      throw error
    }
  }

  const readsOf =
    (all: typeof units): Database["reads"] =>
    (waiter, mutex) => ({ read: async ({ sql, cells }, values) => all.read(waiter, sql, cells(values), mutex) })
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

    writes({ signal, whileWaiting, unit, spans }, rows, work, options) {
      if (unit instanceof JointUnit) return unit.run(rows, work, options)
      return units.write({ rows, signal, whileWaiting, spans }, (attempt) =>
        work({
          read: (statement, values) => {
            const cells = statement.cells(values)
            return attempt(async (lease) => {
              signal?.throwIfAborted()
              return (await lease.read(statement.sql, cells, signal)).rows
            })
          },
          write: (statement, values, also) => {
            const cells = statement.cells(values)
            return attempt(async (lease) => {
              signal?.throwIfAborted()
              if (also === undefined || also.length === 0)
                return (await lease.connection.run(statement.sql, cells)).matched
              return committed(lease, signal, async ({ connection }) => {
                const { matched } = await connection.run(statement.sql, cells)
                if (matched > 0) await make(connection, also)
                return matched
              })
            })
          },
          change: (changes) =>
            attempt((lease) => {
              signal?.throwIfAborted()
              if (changes.length === 1) return make(lease.connection, changes)
              return committed(lease, signal, ({ connection }) => make(connection, changes))
            }),
        }),
      )
    },

    transaction({ signal, whileWaiting, unit, spans }, rows, work, options) {
      if (unit instanceof JointUnit) return unit.run(rows, work, options)
      return units.write({ rows, signal, whileWaiting, spans }, (attempt) =>
        attempt((lease) =>
          committed(lease, signal, async ({ connection }) => {
            const run = <Values>(statement: Statement<Values>, values: Values) => {
              signal?.throwIfAborted()
              return connection.run(statement.sql, statement.cells(values))
            }
            const result = await work({
              read: async (statement, values) => (await run(statement, values)).rows,
              write: async (statement, values, also) => {
                const { matched } = await run(statement, values)
                if (matched > 0 && also !== undefined) await make(connection, also)
                return matched
              },
              change: (changes) => {
                signal?.throwIfAborted()
                return make(connection, changes)
              },
            })
            signal?.throwIfAborted()
            return result
          }),
        ),
      )
    },

    together: ({ signal, whileWaiting, spans }, rows, work) =>
      units.runJoint({ rows, signal, whileWaiting, spans }, async (join) => {
        const unit = new JointUnit(join)
        try {
          const result = await work(unit)
          await unit.commit()
          return result
        } finally {
          await unit.end()
        }
      }),

    async readAside({ signal }, statement, values) {
      const lease = new Lease(engine, observation)
      try {
        await lease.open(signal)
        return (await lease.read(statement.sql, statement.cells(values), signal)).rows
      } catch (error) {
        throw storeError(error)
      } finally {
        // Not awaited: a connection that is still being opened must not delay a caller that has given up.
        lease.close()
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

function make(connection: Connection, changes: readonly Change[]): Promise<void> {
  return makeChanges(changes, (sql, cells) => connection.run(sql, cells))
}
