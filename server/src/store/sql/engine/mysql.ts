import type { Socket } from "node:net"
import type { PoolConnection, QueryError, ResultSetHeader } from "mysql2"
import { type DataSource, QueryFailedError, type QueryRunner } from "typeorm"
import type { Cell } from "../query/statement.js"
import type { Connection, Result, SqlEngine } from "./engine.js"
import { statementError } from "./mysql-errors.js"
import { StatementError } from "./statement-error.js"

export interface MysqlEngineOptions {
  /** Of type "mysql" or "mariadb". */
  dataSource: DataSource
  poolSize: number
  statementTimeoutMs: number
}

/** A connection of mysql2 as it is, beside what its types tell. */
type MysqlConnection = PoolConnection & { readonly stream: Socket }

// The server ends a SELECT itself when it takes too long, which keeps the connection; it gets this much time to say so.
const graceMs = 500

// How long another process that changes the tables is waited for.
const schemaLockSeconds = 60

export function mysqlEngine({ dataSource, poolSize, statementTimeoutMs }: MysqlEngineOptions): SqlEngine {
  const engine = dataSource.options.type === "mariadb" ? "mariadb" : "mysql"
  const sessionStatements = [
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    `SET SESSION ${[
      // A second is the shortest that both servers have, for rows and for tables. Whoever waits longer does so by trying
      // again, without a connection meanwhile.
      "innodb_lock_wait_timeout = 1",
      "lock_wait_timeout = 1",
      "time_zone = '+00:00'",
      // A value that does not fit is an error, never cut.
      "sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
      engine === "mysql"
        ? `max_execution_time = ${statementTimeoutMs}`
        : `max_statement_time = ${statementTimeoutMs / 1000}`,
    ].join(", ")}`,
  ]
  /** Every connection, and what ends the one thing that it does. */
  const open = new Map<MysqlConnection, (() => void) | undefined>()

  /** Has the connection do one thing; ends the connection when that takes too long. */
  function exchange(
    connection: MysqlConnection,
    start: (done: (error: QueryError | null, result?: unknown) => void) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = () => {
        // A connection that was given up may still end what it did.
        if (isOver) return
        isOver = true
        clearTimeout(timer)
        if (open.has(connection)) open.set(connection, undefined)
      }
      const giveUp = (failure: "timeout" | "unavailable", message: string) => {
        end()
        // Its answer may still come: nobody else must get it.
        destroy(connection)
        reject(new StatementError(failure, message))
      }
      const timer = setTimeout(() => giveUp("timeout", "no answer in time"), statementTimeoutMs + graceMs)
      open.set(connection, () => giveUp("unavailable", "the store is closed"))
      const done = (error: QueryError | null, result?: unknown) => {
        end()
        if (error === null) return resolve(resultOf(result))
        const failure = statementError(error)
        // What a server rejects that shuts down or is read-only now may be welcome at the one that follows.
        if (failure.failure === "unavailable" || failure.failure === "read-only") destroy(connection)
        reject(failure)
      }
      try {
        start(done)
      } catch (error) {
        done(error as QueryError)
      }
    })
  }

  function destroy(connection: MysqlConnection) {
    open.delete(connection)
    connection.destroy()
    // mysql2 says goodbye and waits for the answer, which may never come.
    connection.stream.destroy()
  }

  async function setUp(connection: MysqlConnection) {
    // mysql2 emits errors also when nobody asked anything; without a listener they would end the process.
    connection.on("error", () => {})
    connection.stream.once("close", () => open.delete(connection))
    open.set(connection, undefined)
    try {
      for (const sql of sessionStatements) await exchange(connection, (done) => connection.query(sql, done))
    } catch (error) {
      destroy(connection)
      throw error
    }
  }

  async function withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const runner = dataSource.createQueryRunner()
    try {
      return await work(runner)
    } catch (error) {
      throw error instanceof QueryFailedError ? statementError(error.driverError) : error
    } finally {
      await runner.connect().then(destroy, () => {})
      await runner.release()
    }
  }

  return {
    engine,
    dataSource,
    concurrency: poolSize,
    begin: "START TRANSACTION",
    lock: (select) => select.setLock("pessimistic_write").setOnLocked("nowait"),
    locksRows: true,
    // A statement costs more than a row, here and there. Two, because with one this process would idle while MySQL works.
    lookups: { limit: 16, ahead: 2 },

    async connect(): Promise<Connection> {
      let connection: MysqlConnection
      try {
        // Without a query runner of TypeORM, which would be made and thrown away for every statement.
        connection = await dataSource.driver.obtainMasterConnection()
      } catch (error) {
        throw new StatementError("unavailable", statementError(error).message, statementError(error).code)
      }
      const reused = open.has(connection)
      if (!reused) await setUp(connection)
      return {
        reused,
        run: (sql, cells) =>
          exchange(connection, (done) => {
            if (cells === undefined) connection.query(sql, done)
            else connection.execute({ sql, values: cells, rowsAsArray: true }, done)
          }),
        release: () => connection.release(),
        discard: () => destroy(connection),
      }
    },

    withQueryRunner,

    withSchemaLock: (work) =>
      withQueryRunner(async (runner) => {
        // Changing a large table takes as long as it takes.
        const timeout = engine === "mariadb" ? "max_statement_time" : "max_execution_time"
        const locks = "innodb_lock_wait_timeout = DEFAULT, lock_wait_timeout = DEFAULT"
        await runner.query(`SET SESSION ${timeout} = 0, ${locks}, time_zone = '+00:00'`)
        const lock = "LEFT(CONCAT('authwire.', DATABASE()), 64)"
        const [row] = await runner.query(`SELECT GET_LOCK(${lock}, ${schemaLockSeconds}) AS got`)
        if (Number(row.got) !== 1) throw new StatementError("conflict", "another process is changing the tables")
        // The lock ends with the connection.
        return work(runner)
      }),

    async close() {
      for (const interrupt of open.values()) interrupt?.()
      await dataSource.destroy().catch(() => {})
      for (const connection of open.keys()) destroy(connection)
    },
  }
}

function resultOf(result: unknown): Result {
  if (Array.isArray(result)) return { rows: result as Cell[][], matched: 0 }
  return { rows: [], matched: (result as ResultSetHeader).affectedRows }
}
