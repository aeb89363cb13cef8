import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { describe } from "@jest/globals"
import type BetterSqlite3 from "libsql"
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise"
import { createServerProcess, findServer, type PrivateServer, type ServerEngine } from "./servers.js"

export { type TcpProxy, tcpProxy } from "./tcp-proxy.js"
export type { PrivateServer }

export type DatabaseTarget = "sqlite" | ServerEngine

export type Row = Record<string, unknown>

/** An empty database of one test file. */
export interface TestDatabase {
  readonly target: DatabaseTarget
  /** What the store takes as its `url`. */
  readonly url: string
  /**
   * Runs a statement with `?` for each parameter, on one connection that is not the store's, and returns the rows as
   * the driver gives them: on MySQL and MariaDB key columns are Buffers and dates are Dates. Beside BEGIN and COMMIT,
   * which hold locks against the store, every statement commits by itself.
   */
  query(sql: string, params?: unknown[]): Promise<Row[]>
  /** Closes the connection and removes the database. */
  drop(): Promise<void>
}

/** The databases of this run, for `describe.each`: sqlite always, the servers as far as the global set-up found them. */
export function databaseTargets(): DatabaseTarget[] {
  const wanted = (process.env.AUTHWIRE_TEST_TARGETS ?? "sqlite,mysql,mariadb").split(",")
  const targets: DatabaseTarget[] = wanted.includes("sqlite") ? ["sqlite"] : []
  if (process.env.AUTHWIRE_TEST_MYSQL_URL) targets.push("mysql")
  if (process.env.AUTHWIRE_TEST_MARIADB_URL) targets.push("mariadb")
  return targets
}

/** The servers whose program is on the path, so that a test can have one of its own. */
export function ownServers(): ServerEngine[] {
  return (["mysql", "mariadb"] as const).filter((engine) => findServer(engine) !== undefined)
}

/**
 * `describe.each` of servers: by default of those that this run has beside sqlite. Where there is none the block is
 * skipped, and the global set-up has named what is left out.
 */
export function describeServers(
  name: string,
  block: (engine: ServerEngine) => void,
  engines: readonly ServerEngine[] = databaseTargets().filter((target) => target !== "sqlite"),
): void {
  if (engines.length > 0) describe.each(engines)(name, block)
  else describe.skip(name.replace("%s", "a server"), () => block("mysql"))
}

/**
 * The members of a replication group of MySQL with several primaries: AUTHWIRE_TEST_CLUSTER_URLS, separated by commas.
 * None when it is not set: no run starts a group by itself.
 */
export function clusterUrls(): string[] {
  return process.env.AUTHWIRE_TEST_CLUSTER_URLS?.split(",") ?? []
}

/**
 * Makes an empty database, without tables, on the run's server of that kind or on the one at `url`. `drop()` it when
 * done.
 */
export async function createDatabase(target: DatabaseTarget, url?: string): Promise<TestDatabase> {
  const name = `authwire_test_${randomBytes(6).toString("hex")}`
  if (target === "sqlite") return sqliteDatabase(join(runFolder(), `${name}.db`))
  const { AUTHWIRE_TEST_MYSQL_URL, AUTHWIRE_TEST_MARIADB_URL } = process.env
  const serverUrl = url ?? (target === "mysql" ? AUTHWIRE_TEST_MYSQL_URL : AUTHWIRE_TEST_MARIADB_URL)
  if (!serverUrl) throw new Error(`this run has no ${target}`)
  return serverDatabase(target, serverUrl, name)
}

/**
 * Starts a server that belongs to one test file, so that it can be killed: MariaDB, or MySQL, whichever is installed.
 * Null where neither is. `remove()` it when done.
 */
export async function startPrivateDatabase(
  engine: ServerEngine | undefined = findServer("mariadb") ? "mariadb" : "mysql",
): Promise<PrivateServer | null> {
  return findServer(engine) === undefined ? null : createServerProcess(engine, runFolder())
}

/** Makes an empty database on a server that `startPrivateDatabase` started. */
export function createDatabaseOn(server: PrivateServer): Promise<TestDatabase> {
  return serverDatabase(server.engine, server.url, `authwire_test_${randomBytes(6).toString("hex")}`)
}

async function serverDatabase(target: ServerEngine, serverUrl: string, name: string): Promise<TestDatabase> {
  const url = new URL(serverUrl)
  url.pathname = "/"
  const first = await connect(url.href)
  await first.query(`CREATE DATABASE ${name}`)
  await first.end()
  url.pathname = `/${name}`
  let connection: Promise<Connection> | undefined
  const connected = () => {
    connection ??= connect(url.href).then((opened) => {
      // After the server was killed the next statement connects again.
      opened.on("error", () => {
        connection = undefined
      })
      return opened
    })
    return connection
  }
  return {
    target,
    url: url.href,
    async query(sql, params = []) {
      const [rows] = await (await connected()).query<RowDataPacket[]>(sql, params)
      return Array.isArray(rows) ? rows : []
    },
    async drop() {
      await (await connected()).query(`DROP DATABASE ${name}`)
      await (await connected()).end()
    },
  }
}

function connect(uri: string): Promise<Connection> {
  return createConnection({ uri, timezone: "Z", charset: "utf8mb4" })
}

function sqliteDatabase(path: string): TestDatabase {
  const Database = createRequire(import.meta.url)("libsql") as typeof BetterSqlite3
  let database: BetterSqlite3.Database | undefined
  return {
    target: "sqlite",
    url: `sqlite:${path}`,
    async query(sql, params = []) {
      database ??= new Database(path)
      const statement = database.prepare(sql)
      if (statement.reader) return statement.all(params) as Row[]
      statement.run(params)
      return []
    },
    async drop() {
      database?.close()
      for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true })
    },
  }
}

function runFolder(): string {
  const folder = process.env.AUTHWIRE_TEST_RUN_FOLDER
  if (folder === undefined) throw new Error("jest's global set-up did not run")
  return folder
}
