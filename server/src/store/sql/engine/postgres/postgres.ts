import type { Socket } from "node:net"
import type { Client, PoolClient, QueryArrayConfig, QueryArrayResult } from "pg"
import type { Cell } from "../../query/statement.js"
import type { Connection, Result, SqlEngine } from "../engine.js"
import { withQueryRunnerOf } from "../query-runner.js"
import { failsBy, StatementError } from "../statement-error.js"
import { openPostgresDataSource, type PostgresDataSource } from "./postgres-data-source.js"
import { statementError } from "./postgres-errors.js"
import type { PostgresLocation } from "./postgres-url.js"

export interface PostgresOptions {
  poolSize: number
  connectTimeoutMs: number
  statementTimeoutMs: number
}

/** A connection of pg as it is, beside what its types tell. */
type PostgresConnection = PoolClient & Pick<Client, "end"> & { readonly connection: { readonly stream: Socket } }

// The server ends a statement itself when it takes too long, which keeps the connection; it gets this much time to say so.
const graceMs = 500

/** A process that stands still must not hold its locks for ever. */
const idleInTransactionMs = 10_000

/**
 * How old the plan of a prepared statement may become. That for a small table reads all of it, or all that a tenant has in it;
 * PostgreSQL keeps it when the table grows, until somebody counts the rows anew.
 */
const planAgeMs = 10_000

/** "authwire" in ASCII. Such locks are those of one database. */
const schemaLock = "x'6175746877697265'::bigint"

/** Opens an engine of PostgreSQL, with a first connection to see that it answers. Throws StatementError. */
export async function openPostgresEngine(location: PostgresLocation, options: PostgresOptions): Promise<SqlEngine> {
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
    // As on the other servers. Whoever waits longer does so by trying again, without a connection meanwhile.
    lock_timeout: Math.min(1000, Math.ceil(statementTimeoutMs / 2)),
    idle_in_transaction_session_timeout: idleInTransactionMs,
    // A statement is planned for any values; see planAgeMs.
    plan_cache_mode: "force_generic_plan",
  })
  const sessionStatement = settings.map(([name, value]) => `SET ${name} = '${value}'`).join("; ")
  /** Those that are not in the pool now, and what gives each back to it. */
  const taken = new Map<PostgresConnection, (broken: boolean) => void>()
  /** When each was told how to plan: when it was made, and since then at times. */
  const planned = new WeakMap<PostgresConnection, number>()
  /** Prepared statements have a name on each connection: here the same on all of them. */
  const names = new Map<string, string>()

  function nameOf(sql: string): string {
    let name = names.get(sql)
    if (name === undefined) {
      name = `authwire_${names.size}`
      names.set(sql, name)
    }
    return name
  }

  /** A connection of the pool, or a new one. */
  async function take(): Promise<PostgresConnection> {
    try {
      // Without a query runner of TypeORM, which would be made and thrown away for every statement.
      const [connection, release] = await dataSource.driver.obtainMasterConnection()
      taken.set(connection, release)
      return connection
    } catch (error) {
      const { message, code } = statementError(error)
      throw new StatementError("unavailable", message, code)
    }
  }

  /** @param last when it was told how to plan, if it was. */
  async function prepare(connection: PostgresConnection, last: number | undefined): Promise<void> {
    const now = performance.now()
    if (last !== undefined && now - last < planAgeMs) return
    // pg emits errors also when nobody asked anything; without a listener they would end the process.
    if (last === undefined) connection.on("error", () => {})
    await exchange(connection, last === undefined ? sessionStatement : "DISCARD PLANS")
    planned.set(connection, now)
  }

  function giveBack(connection: PostgresConnection, broken: boolean) {
    const release = taken.get(connection)
    taken.delete(connection)
    release?.(broken)
    // pg says goodbye and waits for the answer, which may never come.
    if (broken) connection.connection.stream.destroy()
  }

  /** Has the connection do one thing; ends the connection when that takes too long. */
  function exchange(connection: PostgresConnection, query: string | QueryArrayConfig): Promise<QueryArrayResult> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const timer = setTimeout(() => {
        isOver = true
        // Its answer may still come: nobody else must get it.
        giveBack(connection, true)
        reject(new StatementError("timeout", "no answer in time"))
      }, statementTimeoutMs + graceMs)
      const done = (error: Error | null, result: QueryArrayResult) => {
        // A connection that was given up may still end what it did.
        if (isOver) return
        isOver = true
        clearTimeout(timer)
        if (error === null) return resolve(result)
        const failure = statementError(error)
        // What a server rejects that shuts down or is read-only now may be welcome at the one that follows.
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
      // So it answers, without an error, when a statement of the transaction has failed.
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
    dataSource,
    concurrency: poolSize,
    begin: "START TRANSACTION",
    lock: (select) => select.setLock("pessimistic_write").setOnLocked("nowait"),
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
          // It may have died while it waited in the pool.
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
        // Changing a large table takes as long as it takes. What it waits for meanwhile, others wait for too.
        await runner.query("RESET ALL; SET statement_timeout = 0; SET timezone = 'UTC'; SET lock_timeout = '60s'")
        await runner.query(`SELECT pg_advisory_lock(${schemaLock})`)
        await runner.query("SET lock_timeout = '5s'")
        // The lock ends with the connection.
        return work(runner)
      }),

    async close() {
      // Statements active fail by it, and what is being connected.
      sockets.destroyAll()
      for (const connection of taken.keys()) giveBack(connection, true)
      await dataSource.destroy().catch(() => {})
    },
  }
}

/** A moment goes over in UTC: the driver would take this machine's time zone, in minutes, which some old ones are not in. */
function parameter(cell: Cell): Cell {
  return cell instanceof Date ? cell.toISOString() : cell
}
