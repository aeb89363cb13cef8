import type { Socket } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import type { PoolConnection, QueryError, ResultSetHeader } from "mysql2"
import type { DataSource } from "typeorm"
import { peerTimeout } from "../../../../util/peer-timeout.js"
import type { Cell } from "../../query/statement.js"
import { failsBy, StatementError } from "../../query/statement-error.js"
import { dialects } from "../dialects.js"
import type { Connection, Result, SqlEngine } from "../engine.js"
import { withQueryRunnerOf } from "../query-runner.js"
import { consistencySetting, consistentStatement, type Freshness } from "./consistency.js"
import type { Cluster } from "./member-state.js"
import { statementError } from "./mysql-errors.js"
import { withClusterLock } from "./schema-lock.js"

export interface MysqlEngineOptions {
  /** A data source of type "mysql" or "mariadb". */
  dataSource: DataSource
  poolSize: number
  statementTimeoutMs: number
  /** The kind of cluster that the server is a member of. */
  cluster: Cluster | undefined
  /** Whether the database is a sharded keyspace of Vitess as a whole. */
  isSharded: boolean
  freshness: Freshness
  /** Called when a connection was lost, could not be made, or led to a server that does not accept writes. */
  onTrouble?: (() => void) | undefined
}

/** A statement that waits for its answer: when it began, and the function that ends it. */
interface Active {
  readonly begun: number
  end(): void
}

/** A connection of mysql2 with the parts that its types do not declare. */
type MysqlConnection = PoolConnection & { readonly stream: Socket }

/** A connection of the pool, with its active statement. It is the same object whenever the connection is used. */
interface Opened extends Connection {
  reused: boolean
  active: Active | undefined
}

// The server cancels a slow SELECT itself, which keeps the connection usable. It has this much extra time to report
// that.
const graceMs = 500

// The timeout of the wait for another process that changes the tables.
const schemaLockSeconds = 60

/**
 * The server may have other defaults. Then writes would be acknowledged and never committed, or rows would refer to users that do
 * not exist.
 */
const safeSettings = ["autocommit = 1", "completion_type = 'NO_CHAIN'", "foreign_key_checks = 1", "unique_checks = 1"]

export interface MysqlEngine extends SqlEngine {
  /** Resolves when no statement is active, or after `ms` milliseconds. */
  idle(ms: number): Promise<void>
  /** Returns how long the oldest active statement has been running, in milliseconds; 0 if none is active. */
  oldestMs(): number
}

export function mysqlEngine(options: MysqlEngineOptions): MysqlEngine {
  const { dataSource, poolSize, statementTimeoutMs, cluster, freshness, onTrouble = () => {} } = options
  const engine = dataSource.options.type === "mariadb" ? "mariadb" : "mysql"
  const consistency = consistencySetting(cluster, freshness)
  const timeout = (ms: number) => {
    if (engine === "mariadb") return `max_statement_time = ${ms / 1000}`
    // vtgate ignores the setting of MySQL.
    return `${cluster === "vitess" ? "query_timeout" : "max_execution_time"} = ${ms}`
  }
  const sessionStatements = [
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    `SET SESSION ${[
      ...safeSettings,
      // One second is the shortest timeout that both servers support for rows and tables. A longer wait consists of
      // retries, without a connection in between.
      "innodb_lock_wait_timeout = 1",
      "lock_wait_timeout = 1",
      "time_zone = '+00:00'",
      // A value that does not fit is an error and is never truncated.
      "sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
      timeout(statementTimeoutMs),
      ...consistency,
    ].join(", ")}`,
  ]
  const open = new Map<MysqlConnection, Opened>()

  /** Runs one statement on the connection. Ends the connection when that takes too long. */
  function exchange(connection: MysqlConnection, opened: Opened, sql: string, cells?: Cell[]): Promise<Result> {
    return new Promise((resolve, reject) => {
      const end = () => {
        late.clear()
        opened.active = undefined
      }
      const giveUp = (failure: "timeout" | "unavailable", message: string) => {
        end()
        // The answer may still arrive and must not reach another call.
        destroy(connection)
        reject(new StatementError(failure, message))
      }
      const late = peerTimeout(statementTimeoutMs + graceMs, () => giveUp("timeout", "no answer in time"))
      opened.active = { begun: performance.now(), end: () => giveUp("unavailable", "the store is closed") }
      const done = (error: QueryError | null, result?: unknown) => {
        end()
        if (error === null) {
          if (Array.isArray(result)) resolve({ rows: result as Cell[][], matched: 0 })
          else resolve({ rows: [], matched: (result as ResultSetHeader).affectedRows })
          return
        }
        const failure = statementError(error)
        // A server rejects it if it shuts down or is read-only now. A new connection may reach its successor.
        if (failure.failure === "unavailable" || failure.failure === "read-only") {
          destroy(connection)
          onTrouble()
        }
        reject(failure)
      }
      try {
        if (cells === undefined) connection.query({ sql, rowsAsArray: true }, done)
        else connection.execute({ sql, values: cells, rowsAsArray: true }, done)
      } catch (error) {
        done(error as QueryError)
      }
    })
  }

  function destroy(connection: MysqlConnection) {
    open.delete(connection)
    connection.destroy()
    // mysql2 sends a termination message and waits for the answer, which may never come.
    connection.stream.destroy()
  }

  async function setUp(connection: MysqlConnection): Promise<Connection> {
    // mysql2 also emits errors on an idle connection. Without a listener they would end the process.
    connection.on("error", () => {})
    connection.stream.once("close", () => open.delete(connection))
    const run: Connection["run"] = (sql, cells) =>
      exchange(connection, opened, consistentStatement(cluster, sql), cells)
    const opened: Opened = {
      reused: false,
      active: undefined,
      run:
        cluster === "galera"
          ? (sql, cells) => run(sql, cells).catch((error) => explained(connection, opened, error))
          : run,
      release: () => connection.release(),
      discard: () => destroy(connection),
    }
    open.set(connection, opened)
    try {
      for (const sql of sessionStatements) await run(sql)
    } catch (error) {
      destroy(connection)
      throw error
    }
    return opened
  }

  /**
   * Distinguishes two causes of the failure "locked" on Galera. A read that waits for other nodes fails like a lock
   * timeout when its own node loses them. In this case the node accepts nothing, as with error 1047.
   */
  async function explained(connection: MysqlConnection, opened: Opened, error: unknown): Promise<never> {
    if (!failsBy(error, "locked")) throw error
    const { rows } = await exchange(connection, opened, "SHOW GLOBAL STATUS LIKE 'wsrep_ready'")
    if (rows[0]?.[1] === "ON") throw error
    destroy(connection)
    onTrouble()
    throw new StatementError("read-only", "the node is not in the primary component of its cluster", error.code)
  }

  const withQueryRunner: SqlEngine["withQueryRunner"] = (work) =>
    withQueryRunnerOf({ dataSource, statementError, end: destroy }, work)

  return {
    engine,
    dialect: dialects[engine],
    dataSource,
    isSharded: options.isSharded,
    concurrency: poolSize,
    begin: "START TRANSACTION",
    locksRows: true,
    // A statement costs more than a row, for both the process and the server. Two statements at a time, because with
    // one this process would idle while MySQL works.
    lookups: { limit: 16, ahead: 2 },
    hasOtherMembers: cluster === "vitess",
    hasOtherWriters: cluster === "galera" || cluster === "multi-primary",

    async connect(): Promise<Connection> {
      let connection: MysqlConnection
      try {
        // A TypeORM query runner is not used, because one would be created and discarded for every statement.
        connection = await dataSource.driver.obtainMasterConnection()
      } catch (error) {
        onTrouble()
        throw new StatementError("unavailable", statementError(error).message, statementError(error).code)
      }
      const opened = open.get(connection)
      if (opened === undefined) return setUp(connection)
      opened.reused = true
      return opened
    },

    withQueryRunner,

    withSchemaLock: (work) =>
      withQueryRunner(async (runner) => {
        // A change of a large table has no time limit. Waiting for a lock is limited, because other transactions wait
        // behind it.
        const locks = "innodb_lock_wait_timeout = 50, lock_wait_timeout = 5"
        const settings = [...safeSettings, timeout(0), locks, "time_zone = '+00:00'", ...consistency]
        await runner.query(`SET SESSION ${settings.join(", ")}`)
        const lock = "LEFT(CONCAT('authwire.', DATABASE()), 64)"
        const [row] = await runner.query(`SELECT GET_LOCK(${lock}, ${schemaLockSeconds})`)
        // Vitess drops aliases of this statement.
        if (Number(Object.values(row)[0]) !== 1)
          throw new StatementError("conflict", "another process is changing the tables")
        // The lock is released when the connection ends. It is valid on this server only; vtgate takes it on the primary.
        return cluster === undefined || cluster === "vitess"
          ? work(runner)
          : withClusterLock(dataSource, runner, schemaLockSeconds, work)
      }),

    async idle(ms) {
      const end = performance.now() + ms
      while (performance.now() < end && [...open.values()].some(({ active }) => active !== undefined)) await delay(10)
    },

    oldestMs() {
      const now = performance.now()
      return Math.max(0, ...[...open.values()].map(({ active }) => (active === undefined ? 0 : now - active.begun)))
    },

    async close() {
      for (const { active } of open.values()) active?.end()
      await dataSource.destroy().catch(() => {})
      for (const connection of open.keys()) destroy(connection)
    },
  }
}
