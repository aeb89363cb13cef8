import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { DataSource, QueryFailedError, type QueryRunner } from "typeorm"
import { quotesValues, withheld } from "../../../errors/quoted-values.js"
import { sqliteCodeOf } from "../../../errors/sqlite-code.js"
import { lineOf, longestTurnMs, turnLimit } from "../../../util/turn-limit.js"
import type { Cell } from "../query/statement.js"
import { type Failure, StatementError } from "../query/statement-error.js"
import { common } from "./data-source.js"
import { dialects } from "./dialects.js"
import type { Connection, Result, SqlEngine } from "./engine.js"
import { SqliteDatabase, type SqliteStatement } from "./sqlite-driver.js"

/**
 * How long SQLite waits for a lock of another process, in milliseconds. Short, because the wait blocks the event loop.
 */
const busyTimeoutMs = 20

/** How long a connection that only reads waits for a lock of another process, in milliseconds. Only commands have one. */
const readerBusyTimeoutMs = 10_000

/**
 * For how long the statements of a turn of the event loop may have taken when a further unit of work follows them without waiting for its
 * turn, in milliseconds. So a short unit waits for one long piece of other work, and not for one before each unit in its line.
 */
const statementsMs = 2

/** For how long units follow each other in a turn at most, with all that runs between them, in milliseconds. */
const unitsMs = 2 * longestTurnMs

/** TypeORM makes texts of times. */
type SqliteCell = Exclude<Cell, Date>

/** Begins a transaction with the lock for writes. */
const begin = "BEGIN IMMEDIATE"

const failures: [prefix: string, failure: Failure][] = [
  ["SQLITE_CONSTRAINT_PRIMARYKEY", "duplicate"],
  ["SQLITE_CONSTRAINT_UNIQUE", "duplicate"],
  ["SQLITE_CONSTRAINT_FOREIGNKEY", "no-parent"],
  ["SQLITE_CONSTRAINT_NOTNULL", "no-parent"], // the user or the tenant is being deleted (see schema/present-users.ts)
  ["SQLITE_BUSY", "locked"],
  ["SQLITE_LOCKED", "locked"],
  ["SQLITE_IOERR", "unavailable"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_CANTOPEN", "unavailable"],
  ["SQLITE_READONLY", "read-only"],
  ["SQLITE_CORRUPT", "unavailable"],
  ["SQLITE_NOTADB", "unavailable"],
]

/**
 * Opens a SQLite file, or `:memory:`. A file that does not exist is created, and only its owner can read it. Throws
 * StatementError.
 *
 * @param readOnly Whether SQLite rejects writes. The file must exist, and is left as it is, without a write-ahead log
 *   if it has none.
 */
export async function openSqliteEngine(
  path: string,
  { readOnly = false }: { readOnly?: boolean | undefined } = {},
): Promise<SqlEngine> {
  const isFile = path !== ":memory:"
  if (isFile && !readOnly) createFile(path)
  // TypeORM would create its folder.
  else if (isFile && !existsSync(path)) throw new StatementError("unavailable", "there is no such file", "ENOENT")
  // To open a pipe would wait for ever.
  if (isFile && existsSync(path) && statSync(path).isFIFO())
    throw new StatementError("unavailable", "it is a pipe, not a file", "SQLITE_CANTOPEN")
  const dataSource = new DataSource({
    type: "better-sqlite3",
    driver: SqliteDatabase,
    database: path,
    readonly: isFile && readOnly,
    // Turning on the write-ahead log briefly requires exclusive access to the file.
    timeout: 5000,
    enableWAL: isFile && !readOnly,
    ...common("sqlite"),
  })
  try {
    await dataSource.initialize()
    const database: SqliteDatabase = await dataSource.createQueryRunner().connect()
    database.pragma(`busy_timeout = ${readOnly ? readerBusyTimeoutMs : busyTimeoutMs}`)
    // SQLite reads the file only now.
    database.pragma("schema_version")
  } catch (error) {
    throw statementError(error)
  }
  return sqliteEngine(dataSource, isFile ? filesAt(path) : () => {})
}

/**
 * Returns a function that throws if the file or its write-ahead log are no longer those that were opened, because
 * somebody removed or replaced them. SQLite goes on with the opened ones, which nobody will find: a write would be lost
 * when the process ends, although its caller was told that it was made.
 */
function filesAt(path: string): () => void {
  const opened = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }))
  return () => {
    const other = opened.find(({ file, identity }) => identityOf(file) !== identity)
    if (other === undefined) return
    throw new StatementError(
      "read-only",
      `${other.file} was removed or replaced while it was open: a restart uses the files that are there then, and loses ` +
        `the opened ones, which Linux has in /proc/${process.pid}/fd until then`,
      "SQLITE_READONLY_DBMOVED",
    )
  }
}

/** Returns what tells a file apart from another one at the same path; undefined if there is none. */
function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

/**
 * Creates a database file that only its owner can read, if it does not exist. SQLite gives the same mode to the files
 * that it keeps next to it.
 */
function createFile(path: string): void {
  // A file that this process has open is not opened again: closing it would release the locks that SQLite holds on it.
  if (existsSync(path)) return
  try {
    mkdirSync(dirname(path), { recursive: true })
    closeSync(openSync(path, "a", 0o600))
  } catch {
    // SQLite cannot open the file either, and reports it.
  }
}

/**
 * Creates the engine of SQLite. It has one connection and runs statements synchronously, so no statement waits or needs
 * a timeout.
 *
 * @param checkFiles Throws if a write would be lost.
 */
function sqliteEngine(dataSource: DataSource, checkFiles: () => void): SqlEngine {
  const statements = new Map<string, SqliteStatement>()
  // Each unit of work ends in the turn in which it begins, so that hundreds of calls could otherwise keep the process from accepting
  // connections for more than half a second.
  const turn = turnLimit(longestTurnMs)
  /** When the first unit of this turn began, and how long the statements have taken since; undefined if there was none. */
  let units: { readonly begun: number; statementsMs: number } | undefined
  const endTurn = () => {
    units = undefined
  }
  const mayFollow = () =>
    units !== undefined && units.statementsMs < statementsMs && performance.now() - units.begun < unitsMs
  // In one line all the same: a unit ends before another one, which has the same connection, begins.
  const line = lineOf(() => (mayFollow() ? undefined : turn()))

  function prepared(database: SqliteDatabase, sql: string): SqliteStatement {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = database.prepare(sql)
      statements.set(sql, statement)
    }
    return statement
  }

  async function run(sql: string, cells?: Cell[]): Promise<Result> {
    const database: SqliteDatabase = await dataSource.createQueryRunner().connect()
    if (!database.open) throw new StatementError("unavailable", "the database is closed")
    const begun = performance.now()
    try {
      if (cells === undefined) {
        if (sql === begin) checkFiles()
        database.exec(sql)
        return { rows: [], matched: 0 }
      }
      const statement = prepared(database, sql)
      const bound = cells as SqliteCell[]
      if (statement.reader) return { rows: statement.rows(bound), matched: 0 }
      if (!database.inTransaction) checkFiles()
      return { rows: [], matched: Number(statement.run(...bound).changes) }
    } catch (error) {
      throw statementError(error)
    } finally {
      if (units !== undefined) units.statementsMs += performance.now() - begun
    }
  }

  async function withQueryRunner<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    try {
      return await work(dataSource.createQueryRunner())
    } catch (error) {
      throw error instanceof QueryFailedError ? statementError(error.driverError) : error
    }
  }

  const connection: Connection = { reused: false, run, release() {}, discard() {} }
  return {
    engine: "sqlite",
    dialect: dialects.sqlite,
    dataSource,
    concurrency: 1,
    begin,
    locksRows: false,
    lookups: { limit: 16, ahead: 1 },
    hasOtherMembers: false,
    connect: async () => {
      await line()
      if (units === undefined) {
        units = { begun: performance.now(), statementsMs: 0 }
        setImmediate(endTurn)
      }
      return connection
    },
    turn,
    withQueryRunner,
    withSchemaLock: (work) =>
      withQueryRunner(async (runner) => {
        await run(begin)
        try {
          const result = await work(runner)
          await run("COMMIT")
          return result
        } catch (error) {
          await run("ROLLBACK")
          throw error
        }
      }),
    close: () => dataSource.destroy(),
  }
}

/** Classifies an error of SQLite. Its own messages name tables and columns, and quote no values. */
function statementError(error: unknown): StatementError {
  if (error instanceof StatementError) return error
  const code = sqliteCodeOf(error as { code?: string })
  const failure = failures.find(([prefix]) => code?.startsWith(prefix))?.[1]
  return new StatementError(
    failure ?? "fault",
    quotesValues(error as Error) ? withheld : (error as Error).message,
    code,
  )
}
