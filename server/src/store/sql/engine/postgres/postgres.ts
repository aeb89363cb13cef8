import type { Socket } from "node:net"
import type { Client, PoolClient, QueryArrayConfig, QueryArrayResult } from "pg"
import { oncePer } from "../../../../util/once-per.js"
import { peerTimeout } from "../../../../util/peer-timeout.js"
import type { Cell } from "../../query/statement.js"
import { failsBy, StatementError } from "../../query/statement-error.js"
import { dialects } from "../dialects.js"
import type { Connection, Result, SqlEngine } from "../engine.js"
import { withQueryRunnerOf } from "../query-runner.js"
import type { PostgresLocation } from "../url/postgres-url.js"
import { rejectTransactionPooler } from "./pooler.js"
import { openPostgresDataSource, type PostgresDataSource } from "./postgres-data-source.js"
import { statementError } from "./postgres-errors.js"

export interface PostgresOptions {
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
}

/** A connection of pg with the parts that its types do not declare. */
type PostgresConnection = PoolClient & Pick<Client, "end"> & { readonly connection: { readonly stream: Socket } }

// The server cancels a slow statement itself, which keeps the connection usable. It has this much extra time to report
// that.
const graceMs = 500

/** Limits how long a stopped process can hold its locks, in milliseconds. */
const idleInTransactionMs = 10_000

/**
 * The maximum age of a prepared statement's plan, in milliseconds. The plan for a small table scans all of it, or all
 * rows of a tenant. PostgreSQL keeps such a plan when the table grows, until new statistics are collected.
 */
const planAgeMs = 10_000

/** The key of the advisory lock: "authwire" in ASCII. Advisory locks are local to a database. */
const schemaLock = "x'6175746877697265'::bigint"

/** Opens a PostgreSQL engine and makes a first connection to check that the server answers. Throws StatementError. */
export async function openPostgresEngine(location: PostgresLocation, options: PostgresOptions): Promise<SqlEngine> {
  await rejectTransactionPooler(location, options.connectTimeoutMs)
  const engine = postgresEngine(await openPostgresDataSource(location, options), options)
  try {
    const first = await engine.connect()
    first.release()
  } catch (error) {
    await engine.close()
    throw error
  }
  return engine
}

function postgresEngine(
  { dataSource, sockets }: PostgresDataSource,
  { poolSize, statementTimeoutMs }: PostgresOptions,
): SqlEngine {
  const settings = Object.entries({
    default_transaction_isolation: "read committed",
    timezone: "UTC",
    datestyle: "ISO",
    statement_timeout: statementTimeoutMs,
    // The same as on the other servers. A longer wait consists of retries, without a connection in between.
    lock_timeout: Math.min(1000, Math.ceil(statementTimeoutMs / 2)),
    idle_in_transaction_session_timeout: idleInTransactionMs,
    // A policy of row-level security would hide rows, which would be reported as missing. So it makes every statement fail.
    row_security: "off",
    // A plan must suit all values; see planAgeMs.
    plan_cache_mode: "force_generic_plan",
  })
  const sessionStatement = settings.map(([name, value]) => `SET ${name} = '${value}'`).join("; ")
  /** The connections that are not in the pool now, with the functions that return them to it. */
  const taken = new Map<PostgresConnection, (broken: boolean) => void>()
  /** When each connection last dropped its plans, or was set up. */
  const planned = new WeakMap<PostgresConnection, number>()
  /** The names of prepared statements, the same on all connections. */
  let names = 0
  const nameOf = oncePer((_: string) => `authwire_${names++}`)

  /** Takes a connection of the pool, or makes a new one. */
  async function take(): Promise<PostgresConnection> {
    try {
      // A TypeORM query runner is not used, because one would be created and discarded for every statement.
      const [connection, release] = await dataSource.driver.obtainMasterConnection()
      taken.set(connection, release)
      return connection
    } catch (error) {
      const { message, code } = statementError(error)
      throw new StatementError("unavailable", message, code)
    }
  }

  /**
   * Sets up a new connection, and makes a reused one drop its old plans.
   *
   * @param last when the connection was last prepared, if it was.
   */
  async function prepare(connection: PostgresConnection, last: number | undefined): Promise<void> {
    const now = performance.now()
    if (last !== undefined && now - last < planAgeMs) return
    await exchange(connection, last === undefined ? sessionStatement : "DISCARD PLANS")
    planned.set(connection, now)
  }

  function giveBack(connection: PostgresConnection, broken: boolean) {
    const release = taken.get(connection)
    taken.delete(connection)
    release?.(broken)
    // pg sends a termination message and waits for the answer, which may never come.
    if (broken) connection.connection.stream.destroy()
  }

  /** Runs one query on the connection. Ends the connection when that takes too long. */
  function exchange(connection: PostgresConnection, query: string | QueryArrayConfig): Promise<QueryArrayResult> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const late = peerTimeout(statementTimeoutMs + graceMs, () => {
        isOver = true
        // The answer may still arrive and must not reach another call.
        giveBack(connection, true)
        reject(new StatementError("timeout", "no answer in time"))
      })
      const done = (error: Error | null, result: QueryArrayResult) => {
        // A discarded connection may still finish its query.
        if (isOver) return
        isOver = true
        late.clear()
        if (error === null) return resolve(result)
        const failure = statementError(error)
        // A server rejects it if it shuts down or is read-only now. A new connection may reach its successor.
        if (failure.failure === "unavailable" || failure.failure === "read-only") giveBack(connection, true)
        reject(failure)
      }
      if (typeof query === "string") connection.query(query, done)
      else connection.query(query, done)
    })
  }

  async function run(connection: PostgresConnection, text: string, cells?: Cell[]): Promise<Result> {
    if (cells === undefined) {
      const { command } = await exchange(connection, text)
      // PostgreSQL answers COMMIT in this way, without an error, if a statement of the transaction has failed.
      if (text === "COMMIT" && command !== text) throw new StatementError("fault", "the transaction was rolled back")
      return { rows: [], matched: 0 }
    }
    const query = { name: nameOf(text), text, values: cells.map(parameter), rowMode: "array" } as const
    const { rows, rowCount } = await exchange(connection, query)
    return { rows, matched: rowCount ?? 0 }
  }

  const withQueryRunner: SqlEngine["withQueryRunner"] = (work) =>
    // The pool does not keep a connection that is being ended.
    withQueryRunnerOf({ dataSource, statementError, end: (one: Client) => void one.end().catch(() => {}) }, work)

  return {
    engine: "postgres",
    dialect: dialects.postgres,
    dataSource,
    concurrency: poolSize,
    begin: "START TRANSACTION",
    locksRows: true,
    lookups: { limit: 16, ahead: 2 },
    hasOtherMembers: false,

    async connect(): Promise<Connection> {
      for (;;) {
        const connection = await take()
        const last = planned.get(connection)
        const reused = last !== undefined
        try {
          await prepare(connection, last)
        } catch (error) {
          giveBack(connection, true)
          // The connection may have died while it was idle in the pool.
          if (reused && failsBy(error, "unavailable")) continue
          throw error
        }
        return {
          reused,
          run: (sql, cells) => run(connection, sql, cells),
          release: () => giveBack(connection, false),
          discard: () => giveBack(connection, true),
        }
      }
    },

    withQueryRunner,

    withSchemaLock: (work) =>
      withQueryRunner(async (runner) => {
        // A change of a large table has no time limit. Waiting for a lock is limited, because other transactions wait
        // behind it.
        await runner.query(
          "RESET ALL; SET statement_timeout = 0; SET timezone = 'UTC'; SET lock_timeout = '60s'; SET row_security = off",
        )
        await runner.query(`SELECT pg_advisory_lock(${schemaLock})`)
        await runner.query("SET lock_timeout = '5s'")
        // The lock is released when the connection ends.
        return work(runner)
      }),

    async close() {
      // Active statements fail, and so do connection attempts.
      sockets.destroyAll()
      for (const connection of taken.keys()) giveBack(connection, true)
      await dataSource.destroy().catch(() => {})
    },
  }
}

/**
 * Converts a time to text in UTC. The driver would use the time zone of this machine, rounded to minutes, which is
 * wrong for some historical zones.
 */
function parameter(cell: Cell): Cell {
  return cell instanceof Date ? cell.toISOString() : cell
}
