import type { DataSource, QueryRunner } from "typeorm"
import { orAborted } from "../../util/abort.js"
import { StoreError } from "../error.js"
import type { Waiter } from "../store.js"
import type { SqlEngine } from "./engine/engine.js"
import { Lease } from "./engine/lease.js"
import { failsBy, storeError } from "./engine/statement-error.js"
import type { CoalesceOptions } from "./query/batch-loader.js"
import { type BackoffOptions, backoff } from "./query/retry.js"
import type { Cell, Statement } from "./query/statement.js"
import { type Attempt, unitsOfWork } from "./query/unit-of-work.js"
import type { Engine } from "./schema/column-types.js"
import { entities } from "./schema/entities.js"
import { type Tables, tables } from "./schema/table.js"

/** Runs statements on one connection. */
export interface Statements {
  /** The rows that a SELECT finds. */
  read<Values>(statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /** How many rows an INSERT, UPDATE or DELETE matched. Throws StatementError "duplicate" and "no-parent". */
  write<Values>(statement: Statement<Values>, values: Values): Promise<number>
}

/** Statements that read. */
export type Reads = Pick<Statements, "read">

/**
 * A database that is open. Every unit of work has a connection for itself; those beyond the pool's size wait in order.
 * What the work throws comes out unchanged, apart from failures of the database, which become StoreErrors.
 *
 * What meets a lock of another transaction is tried again until the caller's signal aborts, without a connection between
 * two tries. `rows` are the rows that the work locks, by the names that tables give them: the writers of a row take turns.
 */
export interface Database {
  readonly engine: Engine
  readonly dataSource: DataSource
  readonly tables: Tables
  /** How look-ups by key share statements. The limit is a power of two. */
  readonly lookups: CoalesceOptions
  /** Runs statements that read. */
  statements<T>(waiter: Waiter, work: (sql: Reads) => Promise<T>): Promise<T>
  /** Runs statements that commit each by itself. One that conflicts with others is tried again. */
  writes<T>(waiter: Waiter, rows: readonly string[], work: (sql: Statements) => Promise<T>): Promise<T>
  /** Runs statements that commit together. When they conflict with others, the work runs again from its beginning. */
  transaction<T>(waiter: Waiter, rows: readonly string[], work: (sql: Statements) => Promise<T>): Promise<T>
  /** Reads past the queue, on a connection that is there for it: what decides who may come in must not wait for those who are. */
  readAside<T>(waiter: Waiter, work: (sql: Reads) => Promise<T>): Promise<T>
  /** Runs what needs TypeORM's own way of running queries, as migrations do, on a connection that is ended then. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** The same, while no other process does so: for changes of the tables. The work may run more than once. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** Throws DATABASE_UNAVAILABLE when the database does not answer, or takes no writes. */
  ping(waiter: Waiter): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions extends Pick<BackoffOptions, "random" | "onRetry"> {
  /** How many units of work may wait for a connection. */
  queueLimit: number
}

export function database(engine: SqlEngine, { queueLimit, ...options }: DatabaseOptions): Database {
  // Who waits to try again has been let in before, and is in no line.
  const again = backoff({ ...options, limit: engine.concurrency + queueLimit })
  const units = unitsOfWork(engine, { queueLimit, backoff: again })
  const allTables = tables(engine.dataSource, entities(engine.engine), engine.lock)
  let pinging: Promise<void> | undefined
  let closing: Promise<void> | undefined

  /** Deletes what there never is, because no tenant has this name: a write like any other, that changes nothing. */
  const idleWrite = allTables.verificationTokens.delete
  const nobody = { tenant: "", identifier: "", tokenHash: Buffer.alloc(32) }

  async function pingOnce() {
    const lease = new Lease(engine)
    try {
      await lease.open()
      await lease.read(idleWrite.sql, idleWrite.cells(nobody))
    } catch (cause) {
      // On SQLite whoever writes locks everything. Elsewhere it is the whole table that is locked.
      if (failsBy(cause, "locked") && !engine.locksRows) return
      if (failsBy(cause, "read-only")) throw storeError(cause)
      throw new StoreError("DATABASE_UNAVAILABLE", "the database does not answer", { cause })
    } finally {
      await lease.close()
    }
  }

  return {
    engine: engine.engine,
    dataSource: engine.dataSource,
    tables: allTables,
    lookups: engine.lookups,

    statements: ({ signal, aside }, work) =>
      units.run({ kind: "read", rows: [], signal, aside }, (attempt) => work({ read: reading(attempt, signal) })),

    writes: ({ signal, aside }, rows, work) =>
      units.run({ kind: "write", rows, signal, aside }, (attempt) =>
        work({
          read: reading(attempt, signal),
          write: (statement, values) => {
            const cells = statement.cells(values)
            return attempt(async (lease) => {
              signal?.throwIfAborted()
              return (await lease.connection.run(statement.sql, cells)).matched
            })
          },
        }),
      ),

    transaction: ({ signal, aside }, rows, work) =>
      units.run({ kind: "write", rows, signal, aside }, (attempt) =>
        attempt(async (lease) => {
          await lease.read(engine.begin)
          const { connection } = lease
          const run = <Values>(statement: Statement<Values>, values: Values) => {
            signal?.throwIfAborted()
            return connection.run(statement.sql, statement.cells(values))
          }
          try {
            const result = await work({
              read: async (statement, values) => (await run(statement, values)).rows,
              write: async (statement, values) => (await run(statement, values)).matched,
            })
            signal?.throwIfAborted()
            await connection.run("COMMIT")
            return result
          } catch (error) {
            await connection.run("ROLLBACK").catch(() => connection.discard())
            throw error
          }
        }),
      ),

    async readAside({ signal }, work) {
      const lease = new Lease(engine)
      try {
        await orAborted(lease.open(), signal)
        return await work({
          read: async (statement, values) => (await lease.read(statement.sql, statement.cells(values))).rows,
        })
      } catch (error) {
        throw storeError(error)
      } finally {
        await lease.close()
      }
    },

    withQueryRunner: (work) => units.alone(() => engine.withQueryRunner(work)),

    withSchemaLock: (work) => units.alone(() => again({}, () => engine.withSchemaLock(work))),

    async ping({ signal }) {
      signal?.throwIfAborted()
      // One at a time, whoever asks: the pool has one connection beyond the gate.
      pinging ??= pingOnce().finally(() => {
        pinging = undefined
      })
      await orAborted(pinging, signal)
    },

    close() {
      units.close()
      closing ??= engine.close()
      return closing
    },
  }
}

function reading(attempt: Attempt, signal: AbortSignal | undefined): Reads["read"] {
  return (statement, values) => {
    const cells = statement.cells(values)
    return attempt(async (lease) => {
      signal?.throwIfAborted()
      return (await lease.read(statement.sql, cells)).rows
    })
  }
}
