import type { DataSource, QueryRunner } from "typeorm"
import { orAborted } from "../../or-aborted.js"
import { StoreError } from "../error.js"
import type { Waiter } from "../store.js"
import { type BackoffOptions, withBackoff } from "./backoff.js"
import type { CoalesceOptions } from "./coalesce.js"
import type { Engine } from "./column-types.js"
import type { Connection, SqlEngine } from "./engine.js"
import { entities } from "./entities.js"
import { gate } from "./gate.js"
import { failsBy, StatementError, storeError } from "./statement-error.js"
import { type Cell, type Tables, tables } from "./table.js"

/** Runs statements on one connection. */
export interface Statements {
  /** The rows that a SELECT finds. */
  read(statement: string, cells: Cell[]): Promise<Cell[][]>
  /** How many rows an INSERT, UPDATE or DELETE matched. Throws StatementError "duplicate" and "no-parent". */
  write(statement: string, cells: Cell[]): Promise<number>
}

/**
 * A database that is open. Every unit of work has a connection for itself; those beyond the pool's size wait in order.
 * What the work throws comes out unchanged, apart from failures of the database, which become StoreErrors.
 */
export interface Database {
  readonly engine: Engine
  readonly dataSource: DataSource
  readonly tables: Tables
  /** What a SELECT ends with that locks its rows until the transaction ends. */
  readonly forUpdate: string
  /** How look-ups by key share statements. The limit is a power of two. */
  readonly lookups: CoalesceOptions
  /** Runs statements that commit each by itself. One that conflicts with others is tried again. */
  statements<T>(waiter: Waiter, work: (sql: Statements) => Promise<T>): Promise<T>
  /** Reads past the queue, on a connection that is there for it: what decides who may come in must not wait for those who are. */
  readAside<T>(waiter: Waiter, work: (sql: Pick<Statements, "read">) => Promise<T>): Promise<T>
  /** Runs statements that commit together. When they conflict with others, the work runs again from its beginning. */
  transaction<T>(waiter: Waiter, work: (sql: Statements) => Promise<T>): Promise<T>
  /** Runs what needs TypeORM's own way of running queries, as migrations do, on a connection that is ended then. */
  withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  /** The same, while no other process does so: for changes of the tables. The work may run more than once. */
  withSchemaLock<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T>
  ping(waiter: Waiter): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions extends BackoffOptions {
  /** How many units of work may wait for a connection. */
  queueLimit: number
}

export function database(engine: SqlEngine, options: DatabaseOptions): Database {
  const entrance = gate(engine.concurrency, options.queueLimit)
  let pinging: Promise<void> | undefined
  let closing: Promise<void> | undefined

  async function withConnection<T>(waiter: Waiter, work: (lease: Lease) => Promise<T>): Promise<T> {
    await entrance.enter(waiter.signal)
    const lease = new Lease(engine)
    try {
      await orAborted(lease.open(), waiter.signal)
      return await work(lease)
    } catch (error) {
      throw storeError(error)
    } finally {
      // Also after an abort the place stays taken until the connection that was being made has come and gone.
      lease.close().finally(() => entrance.leave())
    }
  }

  async function alone<T>(work: () => Promise<T>): Promise<T> {
    await entrance.enter(undefined)
    try {
      return await work()
    } catch (error) {
      throw storeError(error)
    } finally {
      entrance.leave()
    }
  }

  async function pingOnce() {
    const lease = new Lease(engine)
    try {
      await lease.open()
      await lease.read("SELECT 1", [])
    } catch (cause) {
      throw new StoreError("DATABASE_UNAVAILABLE", "the database gives no sign of life", { cause })
    } finally {
      await lease.close()
    }
  }

  return {
    engine: engine.engine,
    dataSource: engine.dataSource,
    tables: tables(engine.dataSource, entities(engine.engine)),
    forUpdate: engine.forUpdate,
    lookups: engine.lookups,

    statements: ({ signal }, work) =>
      withConnection({ signal }, (lease) =>
        work({
          async read(statement, cells) {
            signal?.throwIfAborted()
            return (await lease.read(statement, cells)).rows
          },
          write: (statement, cells) =>
            withBackoff(options, signal, async () => {
              signal?.throwIfAborted()
              return (await lease.connection.run(statement, cells)).matched
            }),
        }),
      ),

    async readAside({ signal }, work) {
      const lease = new Lease(engine)
      try {
        await orAborted(lease.open(), signal)
        return await work({ read: async (statement, cells) => (await lease.read(statement, cells)).rows })
      } catch (error) {
        throw storeError(error)
      } finally {
        await lease.close()
      }
    },

    transaction: ({ signal }, work) =>
      withConnection({ signal }, (lease) =>
        withBackoff(options, signal, async () => {
          await lease.read(engine.begin)
          const { connection } = lease
          const run = (statement: string, cells: Cell[]) => {
            signal?.throwIfAborted()
            return connection.run(statement, cells)
          }
          try {
            const result = await work({
              read: async (statement, cells) => (await run(statement, cells)).rows,
              write: async (statement, cells) => (await run(statement, cells)).matched,
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

    withQueryRunner: (work) => alone(() => engine.withQueryRunner(work)),

    withSchemaLock: (work) => alone(() => withBackoff(options, undefined, () => engine.withSchemaLock(work))),

    async ping({ signal }) {
      signal?.throwIfAborted()
      // One at a time, whoever asks: the pool has one connection beyond the gate.
      pinging ??= pingOnce().finally(() => {
        pinging = undefined
      })
      await orAborted(pinging, signal)
    },

    close() {
      entrance.close()
      closing ??= engine.close()
      return closing
    },
  }
}

/** The connection of a unit of work. */
class Lease {
  readonly #engine: SqlEngine
  #opening: Promise<void> | undefined
  #connection: Connection | undefined

  constructor(engine: SqlEngine) {
    this.#engine = engine
  }

  get connection(): Connection {
    if (this.#connection === undefined) throw new StatementError("fault", "the connection is not open")
    return this.#connection
  }

  open(): Promise<void> {
    this.#opening = this.#engine.connect().then((connection) => {
      this.#connection = connection
    })
    return this.#opening
  }

  /**
   * Runs a statement that may run twice. Connections that waited in the pool while the database restarted are dead;
   * the statement goes on to the next one, until one is new.
   */
  async read(statement: string, cells?: Cell[]) {
    for (;;) {
      try {
        return await this.connection.run(statement, cells)
      } catch (error) {
        if (!failsBy(error, "unavailable") || !this.connection.reused) throw error
        this.connection.discard()
        await this.open()
      }
    }
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => {})
    this.#connection?.release()
    this.#connection = undefined
  }
}
