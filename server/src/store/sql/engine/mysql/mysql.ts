import type { Socket } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import type { PoolConnection, QueryError, ResultSetHeader } from "mysql2"
import type { DataSource } from "typeorm"
import { consistencySetting, type Freshness } from "../../cluster/consistency.js"
import type { Cluster } from "../../cluster/member-state.js"
import { withClusterLock } from "../../cluster/schema-lock.js"
import type { Cell } from "../../query/statement.js"
import type { Connection, Result, SqlEngine } from "../engine.js"
import { withQueryRunnerOf } from "../query-runner.js"
import { failsBy, StatementError } from "../statement-error.js"
import { statementError } from "./mysql-errors.js"

export interface MysqlEngineOptions {
  /** Of type "mysql" or "mariadb". */
  dataSource: DataSource
  poolSize: number
  statementTimeoutMs: number
  /** What the server is a member of. */
  cluster: Cluster | undefined
  freshness: Freshness
  /** Called when a connection was lost, could not be made, or led to a server that takes no writes. */
  onTrouble?: (() => void) | undefined
}

/** A statement that waits for its answer, since when, and what ends it. */
interface Active {
  readonly begun: number
  end(): void
}

/** A connection of mysql2 as it is, beside what its types tell. */
type MysqlConnection = PoolConnection & { readonly stream: Socket }

// The server ends a SELECT itself when it takes too long, which keeps the connection; it gets this much time to say so.
const graceMs = 500

// How long another process that changes the tables is waited for.
const schemaLockSeconds = 60

export interface MysqlEngine extends SqlEngine {
  /** Resolves when no statement is active, and after so many milliseconds at the latest. */
  idle(ms: number): Promise<void>
  /** How long the oldest of the statements has been active, in milliseconds; 0 when none is. */
  oldestMs(): number
}

export function mysqlEngine(options: MysqlEngineOptions): MysqlEngine {
  const { dataSource, poolSize, statementTimeoutMs, cluster, freshness, onTrouble = () => {} } = options
  const engine = dataSource.options.type === "mariadb" ? "mariadb" : "mysql"
  const consistency = consistencySetting(cluster, freshness)
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
      ...consistency,
    ].join(", ")}`,
  ]
  /** Every connection, and the one thing that it does. */
  const open = new Map<MysqlConnection, Active | undefined>()

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
      open.set(connection, { begun: performance.now(), end: () => giveUp("unavailable", "the store is closed") })
      const done = (error: QueryError | null, result?: unknown) => {
        end()
        if (error === null) return resolve(resultOf(result))
        const failure = statementError(error)
        // What a server rejects that shuts down or is read-only now may be welcome at the one that follows.
        if (failure.failure === "unavailable" || failure.failure === "read-only") {
          destroy(connection)
          onTrouble()
        }
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

  /**
   * A read that waits for other nodes of Galera fails as one that waits for a lock when its own node loses them: then
   * the node takes nothing, as by 1047.
   */
  async function explained(connection: MysqlConnection, error: unknown): Promise<never> {
    if (!failsBy(error, "locked")) throw error
    const isReady = { sql: "SHOW GLOBAL STATUS LIKE 'wsrep_ready'", rowsAsArray: true }
    const { rows } = await exchange(connection, (done) => connection.query(isReady, done))
    if (rows[0]?.[1] === "ON") throw error
    destroy(connection)
    onTrouble()
    throw new StatementError("read-only", "the node is not in the primary component of its cluster", error.code)
  }

  const withQueryRunner: SqlEngine["withQueryRunner"] = (work) =>
    withQueryRunnerOf({ dataSource, statementError, end: destroy }, work)

  return {
    engine,
    dataSource,
    concurrency: poolSize,
    begin: "START TRANSACTION",
    lock: (select) => select.setLock("pessimistic_write").setOnLocked("nowait"),
    locksRows: true,
    // A statement costs more than a row, here and there. Two, because with one this process would idle while MySQL works.
    lookups: { limit: 16, ahead: 2 },
    hasOtherMembers: false,

    async connect(): Promise<Connection> {
      let connection: MysqlConnection
      try {
        // Without a query runner of TypeORM, which would be made and thrown away for every statement.
        connection = await dataSource.driver.obtainMasterConnection()
      } catch (error) {
        onTrouble()
        throw new StatementError("unavailable", statementError(error).message, statementError(error).code)
      }
      const reused = open.has(connection)
      if (!reused) await setUp(connection)
      const run: Connection["run"] = (sql, cells) =>
        exchange(connection, (done) => {
          if (cells === undefined) connection.query(sql, done)
          else connection.execute({ sql, values: cells, rowsAsArray: true }, done)
        })
      return {
        reused,
        run:
          cluster === "galera" ? (sql, cells) => run(sql, cells).catch((error) => explained(connection, error)) : run,
        release: () => connection.release(),
        discard: () => destroy(connection),
      }
    },

    withQueryRunner,

    withSchemaLock: (work) =>
      withQueryRunner(async (runner) => {
        // Changing a large table takes as long as it takes. What it waits for meanwhile, others wait for too.
        const timeout = engine === "mariadb" ? "max_statement_time" : "max_execution_time"
        const locks = "innodb_lock_wait_timeout = DEFAULT, lock_wait_timeout = 5"
        const settings = [`${timeout} = 0`, locks, "time_zone = '+00:00'", ...consistency]
        await runner.query(`SET SESSION ${settings.join(", ")}`)
        const lock = "LEFT(CONCAT('authwire.', DATABASE()), 64)"
        const [row] = await runner.query(`SELECT GET_LOCK(${lock}, ${schemaLockSeconds}) AS got`)
        if (Number(row.got) !== 1) throw new StatementError("conflict", "another process is changing the tables")
        // The lock ends with the connection, and holds on this server.
        return cluster === undefined ? work(runner) : withClusterLock(dataSource, runner, schemaLockSeconds, work)
      }),

    async idle(ms) {
      const end = performance.now() + ms
      while (performance.now() < end && [...open.values()].some((active) => active !== undefined)) await delay(10)
    },

    oldestMs() {
      const now = performance.now()
      return Math.max(0, ...[...open.values()].map((active) => (active === undefined ? 0 : now - active.begun)))
    },

    async close() {
      for (const active of open.values()) active?.end()
      await dataSource.destroy().catch(() => {})
      for (const connection of open.keys()) destroy(connection)
    },
  }
}

function resultOf(result: unknown): Result {
  if (Array.isArray(result)) return { rows: result as Cell[][], matched: 0 }
  return { rows: [], matched: (result as ResultSetHeader).affectedRows }
}
