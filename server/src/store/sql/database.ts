import type { DataSource, QueryRunner } from "typeorm"
import { orAborted } from "../../util/abort.js"
import { StoreError } from "../error.js"
import type { Waiter } from "../store.js"
import type { Connection, SqlEngine } from "./engine/engine.js"
import { Lease } from "./engine/lease.js"
import type { DatabaseLoad, Observation } from "./engine/observer.js"
import { failsBy, storeError } from "./engine/statement-error.js"
import type { CoalesceOptions } from "./query/batch-loader.js"
import { type Change, makeChanges, type Statement, type Statements } from "./query/statement.js"
import type { Engine } from "./schema/column-types.js"
import { entities } from "./schema/entities.js"
import { type Tables, tables } from "./schema/table.js"
import { JointUnit } from "./transaction/joint-unit.js"
import { type BackoffOptions, backoff } from "./transaction/retry.js"
import { type Attempt, type EnterOptions, unitsOfWork } from "./transaction/unit-of-work.js"

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
  /** How lookups by key share statements. The limit is a power of two. */
  readonly lookups: CoalesceOptions
  /**
   * Runs statements that read.
   *
   * @param turn Those who name the same take turns, without a connection while they wait: for statements that take long.
   */
  statements<T>(waiter: Waiter, work: (sql: Reads) => Promise<T>, turn?: string): Promise<T>
  /** The same for what may be somewhat older: on the server for that, if there is one and it answers. */
  olderStatements<T>(waiter: Waiter, work: (sql: Reads) => Promise<T>, turn?: string): Promise<T>
  /** Runs statements that commit each by itself. One that conflicts with others is tried again. */
  writes<T>(
    waiter: Waiter,
    rows: readonly string[],
    work: (sql: Statements) => Promise<T>,
    options?: EnterOptions,
  ): Promise<T>
  /** Runs statements that commit together. When they conflict with others, the work runs again from its beginning. */
  transaction<T>(
    waiter: Waiter,
    rows: readonly string[],
    work: (sql: Statements) => Promise<T>,
    options?: EnterOptions,
  ): Promise<T>
  /**
   * Runs work whose `writes` and transactions commit together: those that are told the unit as that of their waiter. When
   * they conflict with others, the work runs again from its beginning. So it does in a cluster when the connection is lost,
   * although it may have been committed: it has to write something that is unique, by which it fails when it was. It does not
   * read by `statements` between them.
   */
  together<T>(waiter: Waiter, rows: readonly string[], work: (unit: JointUnit) => Promise<T>): Promise<T>
  /** Reads past the queue, on a connection that is there for it: what decides who may come in must not wait for those who are. */
  readAside<T>(waiter: Waiter, work: (sql: Reads) => Promise<T>): Promise<T>
  /** Runs what needs TypeORM's own way of running queries, as migrations do, on a connection that is ended then. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** The same, while no other process does so: for changes of the tables. The work may run more than once. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** See DatabaseObserver. */
  lookedUp(count: number): void
  load(): DatabaseLoad
  /** Throws DATABASE_UNAVAILABLE when the database does not answer, or takes no writes. */
  ping(waiter: Waiter): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions extends Pick<BackoffOptions, "random" | "onRetry">, Observation {
  /** How many units of work may wait for a connection. */
  queueLimit: number
  /** For reads of what may be somewhat older. */
  reader: SqlEngine | undefined
}

export function database(engine: SqlEngine, { queueLimit, reader, ...options }: DatabaseOptions): Database {
  // Who waits to try again has been let in before, and is in no line.
  const again = backoff({ ...options, limit: engine.concurrency + queueLimit })
  const observation: Observation = { observer: options.observer, tracer: options.tracer }
  const units = unitsOfWork(engine, { queueLimit, backoff: again, observation })
  const olderUnits = reader && unitsOfWork(reader, { queueLimit, backoff: again, observation })
  const allTables = tables(engine.dataSource, entities(engine.engine), engine.lock)
  let pinging: Promise<void> | undefined
  let closing: Promise<void> | undefined

  /** Deletes what there never is, because no tenant has this name: a write like any other, that changes nothing. */
  const idleWrite = allTables.verificationTokens.delete
  const nobody = { tenant: "", identifier: "", tokenHash: Buffer.alloc(32) }

  async function pingOnce() {
    const lease = new Lease(engine, observation)
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

  /** Runs work in a transaction of a connection. */
  async function committed<T>(lease: Lease, work: (lease: Lease) => Promise<T>): Promise<T> {
    await lease.read(engine.begin)
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

  const statementsOf =
    (all: typeof units): Database["statements"] =>
    ({ signal, aside, spans }, work, turn) =>
      all.run({ kind: "read", rows: turn === undefined ? [] : [turn], signal, aside, spans }, (attempt) =>
        work({ read: reading(attempt, signal) }),
      )
  const statements = statementsOf(units)

  return {
    engine: engine.engine,
    dataSource: engine.dataSource,
    tables: allTables,
    lookups: engine.lookups,

    statements,

    async olderStatements(waiter, work, turn) {
      if (olderUnits === undefined) return statements(waiter, work, turn)
      try {
        return await statementsOf(olderUnits)(waiter, work, turn)
      } catch (error) {
        if (!(error instanceof StoreError) || error.reason !== "DATABASE_UNAVAILABLE") throw error
        return statements(waiter, work, turn)
      }
    },

    writes({ signal, aside, unit, spans }, rows, work, options) {
      if (unit instanceof JointUnit) return unit.run(rows, work, options)
      return units.run({ kind: "write", rows, signal, aside, spans }, (attempt) =>
        work({
          read: reading(attempt, signal),
          write: (statement, values, also) => {
            const cells = statement.cells(values)
            return attempt(async (lease) => {
              signal?.throwIfAborted()
              if (also === undefined || also.length === 0)
                return (await lease.connection.run(statement.sql, cells)).matched
              return committed(lease, async ({ connection }) => {
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
              return committed(lease, ({ connection }) => make(connection, changes))
            }),
        }),
      )
    },

    transaction({ signal, aside, unit, spans }, rows, work, options) {
      if (unit instanceof JointUnit) return unit.run(rows, work, options)
      return units.run({ kind: "write", rows, signal, aside, spans }, (attempt) =>
        attempt((lease) =>
          committed(lease, async ({ connection }) => {
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

    together: ({ signal, aside, spans }, rows, work) =>
      units.onItsWay({ rows, signal, aside, spans }, async (enter) => {
        const unit = new JointUnit(enter)
        try {
          const result = await work(unit)
          await unit.commit()
          return result
        } finally {
          await unit.end()
        }
      }),

    async readAside({ signal }, work) {
      const lease = new Lease(engine, observation)
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

    lookedUp: (count) => observation.observer?.lookedUp(count),

    load: units.load,

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
      olderUnits?.close()
      closing ??= Promise.all([engine.close(), reader?.close()]).then(() => {})
      return closing
    },
  }
}

function make(connection: Connection, changes: readonly Change[]): Promise<void> {
  return makeChanges(changes, (sql, cells) => connection.run(sql, cells))
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
