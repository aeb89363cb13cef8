import type { DataSource, QueryRunner } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import { lineOf, linesOf, longestTurnMs, type Turn, turnLimit } from "../../util/turn-limit.js"
import type { Caller, Waiter } from "../store.js"
import { type DatabaseTime, databaseTime } from "./database-time.js"
import type { SqlEngine } from "./engine/engine.js"
import type { DatabaseLoad, DatabaseObserver, Observation } from "./engine/observer.js"
import { PooledConnection } from "./engine/pooled-connection.js"
import { type ServerLimitEvent, withinServerLimit } from "./engine/server-limit.js"
import { fullDisk } from "./full-disk.js"
import { missingRights } from "./missing-rights.js"
import { type Aside, databasePing } from "./ping.js"
import type { CoalesceOptions } from "./query/batch-loader.js"
import type { Cell, Statement, Statements } from "./query/statement.js"
import { storeError } from "./query/statement-error.js"
import type { Dialect } from "./schema/dialect.js"
import { entities } from "./schema/entities.js"
import type { OnUnreadable } from "./schema/row-reader.js"
import { type Tables, tables } from "./schema/tables.js"
import { connectionPermits } from "./transaction/connection-permits.js"
import { GroupTransaction } from "./transaction/group-commit.js"
import { queue } from "./transaction/queue.js"
import { type BackoffOptions, backoff } from "./transaction/retry.js"
import { type UnitsOfWork, unitsOfWork } from "./transaction/unit-of-work.js"

/** Runs statements that read. Each has a connection of its own while it runs. */
export type Reads = Pick<Statements, "read">

/**
 * An open database. Every unit of work has a connection of its own; further units wait. Errors that the work throws are passed on
 * unchanged, except failures of the database, which become StoreErrors.
 *
 * Work that meets a lock of another transaction is retried until the caller's signal aborts. It holds no connection between two
 * tries.
 */
export interface Database extends Pick<DatabaseTime, "now" | "clockOffsetMs"> {
  readonly dialect: Dialect
  readonly dataSource: DataSource
  readonly tables: Tables
  /** The number of units of work that may run at the same time. */
  readonly concurrency: number
  /** Whether other members of a cluster accept writes at the same time; see turns.ts. */
  readonly hasOtherWriters: boolean
  /** See Store. */
  readonly turn: Turn<string>
  /** The same for rows that were read, which wait in a line of their own: other work of a tenant waits for one of its reads only. */
  readonly readTurn: Turn<string>
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
  /**
   * Runs work that writes. Its statements are committed together: with those of the caller's transaction if it has one, else before this
   * returns. When they conflict with another transaction, or what the work has read before is out of date, all of the work runs again, so
   * it may change nothing but the database. It must not use `reads` after it has written.
   *
   * @param rows the rows that the work locks, by the names that `Table.nameOf` gives them: this process runs one writer of a row at a
   *   time. None where no row is known yet, such as for a new id; the database's own locks hold then too. In the caller's transaction, no
   *   row can be named after a write.
   * @param work gets the transaction, which is also that of every call that it makes as a caller with this transaction.
   * @param isRepeatable see UnitsOfWork.write.
   */
  write<T>(
    writer: Waiter | Caller,
    rows: readonly string[],
    work: (sql: GroupTransaction) => Promise<T>,
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
  /** The shards, if there are some. Then they have the rows of tenants, and this database the tenants, keys and leases. */
  readonly shards?: Shards
  readonly observer: DatabaseObserver | undefined
  load(): DatabaseLoad
  /**
   * Throws DATABASE_UNAVAILABLE when the database does not answer, accepts no writes, or lacks a table. Its cause has the
   * message of the database. Reads the database's clock, and writes a row every few seconds.
   */
  ping(waiter: Waiter): Promise<void>
  close(): Promise<void>
}

/**
 * The shards of a keyspace of Vitess. Each is a database of its own, with its own connections, so that no statement and no transaction
 * spans two of them.
 */
export interface Shards {
  all(): readonly Database[]
  /** Returns the database that has the rows of a tenant. Throws StoreError. */
  of(tenant: string): Promise<Database>
  /** Opens the shards that serve since a reshard, and closes those that do not any more. Throws StoreError. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** Returns the database, and those of its shards. */
export function withShards(database: Database): readonly Database[] {
  return [database, ...(database.shards?.all() ?? [])]
}

export interface DatabaseOptions extends Pick<BackoffOptions, "random" | "onRetry" | "longestWaitMs">, Observation {
  /** The most units of work that may wait for a connection. */
  queueLimit: number
  /** Called for a row that was left out of a list, because it cannot be read. */
  onUnreadable?: OnUnreadable | undefined
  /** The read replica, for reads that may be somewhat older. */
  reader: SqlEngine | undefined
  /** See withinServerLimit. */
  onServerLimit?: ((event: ServerLimitEvent) => void) | undefined
}

/** The most reads that wait for the reserved connection. Those of API keys are few, and each has a timeout. */
const maxWaitingAside = 100

export function database(own: SqlEngine, { queueLimit, onServerLimit, ...options }: DatabaseOptions): Database {
  const engine = withinServerLimit(own, onServerLimit)
  const { hasOtherWriters = false } = engine
  const retrying = backoff({ ...options, hasOtherWriters })
  const reader = options.reader && withinServerLimit(options.reader, onServerLimit)
  const observation: Observation = { observer: options.observer, tracer: options.tracer }
  const disk = fullDisk()
  const rights = missingRights(engine)
  const onFailure = (error: unknown) => {
    disk.saw(error)
    rights.saw(error)
  }
  const units = unitsOfWork(engine, { queueLimit, backoff: retrying, observation, onFailure })
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

  const readsOf =
    (all: UnitsOfWork): Database["reads"] =>
    (waiter, purpose = "read") => ({
      read: async ({ sql, cells }, values) => all.read(purpose, waiter, sql, cells(values)),
    })
  // In one line, so that the statements of SQLite, which take turns too, have every second one.
  const inOneLine = lineOf(engine.turn ?? turnLimit(longestTurnMs))
  const turn = linesOf<string>(
    (tenant) => tenant,
    (_, signal) => inOneLine(signal),
  )
  const reads = readsOf(units)
  const olderReads = olderUnits && readsOf(olderUnits)

  return {
    dialect: engine.dialect,
    dataSource: engine.dataSource,
    tables: allTables,
    concurrency: engine.concurrency,
    hasOtherWriters,
    turn,
    readTurn: linesOf((tenant) => tenant, turn),
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

    async write(writer, rows, work, isRepeatable) {
      const { transaction } = writer as Partial<Caller>
      if (transaction === undefined) return units.write(writer, rows, work, isRepeatable)
      if (!(transaction instanceof GroupTransaction)) throw new TypeError("not a transaction of this store")
      if (rows.length > 0) await transaction.lock(rows)
      return work(transaction)
    },

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
    ping: databasePing({ engine, tables: allTables, aside, time, disk, rights }),

    close() {
      units.close()
      olderUnits?.close()
      asides.close()
      closing ??= Promise.all([engine.close(), reader?.close()]).then(() => {})
      return closing
    },
  }
}
