import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "@jest/globals"
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise"
import { urlsOfHosts } from "../../../server/src/store/sql/cluster/hosts.js"
import { type Later, withEndings } from "../endings.js"
import { postgresDatabase } from "./postgres-database.js"
import { createServerProcess, findServer, type PrivateServer, type ServerEngine, serverEngines } from "./servers.js"

export { type TcpProxy, tcpProxy } from "../connections/tcp-proxy.js"
export { type PrivateServer, type ServerEngine, serverEngines }

export type DatabaseTarget = "sqlite" | ServerEngine

export type Row = Record<string, unknown>

/** An empty database for one test file. */
export interface TestDatabase {
  readonly target: DatabaseTarget
  /** The `url` option of the store. */
  readonly url: string
  /**
   * The URL of the same database at another member of the cluster, if the server's URL names several hosts. The first
   * is 0.
   */
  urlOn(member: number): string
  /**
   * Runs a statement with `?` for each parameter, on one connection that is not the store's. Returns the rows as the
   * driver does: on MySQL and MariaDB key columns are Buffers, and on all servers dates are Dates. Every statement is
   * committed by itself, except between BEGIN and COMMIT, which a test uses to hold locks.
   */
  query(sql: string, params?: unknown[]): Promise<Row[]>
  /** Closes the connection and removes the database. */
  drop(): Promise<void>
}

/**
 * All databases of this run: sqlite always, and the servers that the global set-up found. Only the store, the readers
 * of imports, one sign-in and the commands for backups run on all of them. The linter knows them
 * (`biome.json`), and everything above the store uses `serviceDatabase` or `serviceServer`.
 */
export function databaseTargets(): DatabaseTarget[] {
  const wanted = (process.env.AUTHWIRE_TEST_TARGETS ?? "sqlite").split(",")
  return wanted.includes("sqlite") ? ["sqlite", ...runServers()] : runServers()
}

/** The servers of this run, without sqlite. */
function runServers(): ServerEngine[] {
  return serverEngines.filter((engine) => serverUrlOf(engine) !== undefined)
}

/** The servers whose program is on the PATH, so that a test can start its own. */
export function ownServers(): ServerEngine[] {
  return serverEngines.filter((engine) => findServer(engine) !== undefined)
}

/**
 * The one database on which everything above the store is tested: the first of this run, or the one that
 * AUTHWIRE_TEST_SERVICE_DATABASE names. CI sets it to `mysql`.
 */
export function serviceDatabase(): DatabaseTarget {
  const targets = databaseTargets()
  const wanted = process.env.AUTHWIRE_TEST_SERVICE_DATABASE
  const target = wanted ? targets.find((one) => one === wanted) : targets[0]
  if (target === undefined) throw new Error(`this run has no ${wanted ?? "database"}`)
  return target
}

/**
 * The one server for tests above the store that SQLite does not serve, because they lock rows, start several processes
 * or interrupt the connection: the service database, or the first server of this run. Undefined if this run has none.
 *
 * @param engines - The engines that the test can use.
 */
export function serviceServer(engines: readonly ServerEngine[] = serverEngines): ServerEngine | undefined {
  const servers = runServers().filter((engine) => engines.includes(engine))
  return servers.find((engine) => engine === serviceDatabase()) ?? servers[0]
}

/** The one engine of which a test above the store starts its own server. Undefined if no program of one is installed. */
export function ownServer(engines: readonly ServerEngine[] = serverEngines): ServerEngine | undefined {
  const servers = ownServers().filter((engine) => engines.includes(engine))
  return servers.find((engine) => engine === serviceDatabase()) ?? servers[0]
}

/** A `describe` on one server, by default `serviceServer()`. Without a server it is skipped, as by `describeServers`. */
export function describeServer(name: string, block: (engine: ServerEngine) => void, server = serviceServer()): void {
  describeServers(name, block, server === undefined ? [] : [server])
}

/** A test on one server, by default `serviceServer()`, which registers its clean-ups with `later`. Skipped without one. */
export function testOnServer(
  name: string,
  work: (later: Later, engine: ServerEngine) => Promise<void>,
  server = serviceServer(),
): void {
  if (server === undefined) test.skip(name, () => {})
  else test(name, (withEndings(work) as (engine: ServerEngine) => Promise<void>).bind(null, server), 240_000)
}

/**
 * `describe.each` of servers, by default of all servers of this run except sqlite. Without a server the block is
 * skipped, and the global set-up reports that.
 */
export function describeServers(
  name: string,
  block: (engine: ServerEngine) => void,
  engines: readonly ServerEngine[] = runServers(),
): void {
  if (engines.length > 0) describe.each(engines)(name, block)
  else describe.skip(name.replace("%s", "a server"), () => block("mysql"))
}

/**
 * A test on each of the servers, by default on each of this run except sqlite: on all at the same time, and at the same
 * time as the other concurrent tests of its block. It is for tests that mostly wait. It registers its clean-ups with
 * `later`. Without a server it is skipped.
 */
export function testServersTogether<Target extends DatabaseTarget = ServerEngine>(
  name: string,
  work: (later: Later, target: Target) => Promise<void>,
  targets: readonly Target[] = runServers() as Target[],
): void {
  // Longer than usual, because each may start its servers while all others do.
  if (targets.length > 0) test.concurrent.each(targets)(name, withEndings(work), 240_000)
  else test.skip(name.replace("%s", "a server"), () => {})
}

/**
 * The same, but not at the same time as other tests of its block: when it has ended on all servers, the next one begins.
 */
export function testOnAllServers<Target extends DatabaseTarget = ServerEngine>(
  name: string,
  work: (later: Later, target: Target) => Promise<void>,
  targets?: readonly Target[],
): void {
  describe(name, () => testServersTogether("on %s", work, targets))
}

/** A cluster in which every member accepts writes. */
export interface TestCluster {
  readonly name: string
  readonly engine: "mysql" | "mariadb"
  /** A URL that has every member as a host. */
  readonly url: string
  /** The error code of conflicting writes at two members. */
  readonly conflict: string
  /** Statements that disconnect a member from the others, and connect it again. */
  readonly leave: string
  readonly join: string
}

/**
 * The clusters that are configured for this run: AUTHWIRE_TEST_CLUSTER_URL, a replication group of MySQL with several
 * primaries, and AUTHWIRE_TEST_GALERA_URL, a cluster of MariaDB. No run starts a cluster itself.
 */
export function clusters(): TestCluster[] {
  const { AUTHWIRE_TEST_CLUSTER_URL: group, AUTHWIRE_TEST_GALERA_URL: galera } = process.env
  const all: TestCluster[] = []
  if (group)
    all.push({
      name: "a replication group with several primaries",
      engine: "mysql",
      url: group,
      conflict: "ER_TRANSACTION_ROLLBACK_DURING_COMMIT",
      leave: "STOP GROUP_REPLICATION",
      join: "START GROUP_REPLICATION",
    })
  if (galera)
    all.push({
      name: "a cluster of Galera",
      engine: "mariadb",
      url: galera,
      conflict: "ER_LOCK_DEADLOCK",
      leave: "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'",
      join: "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'",
    })
  return all
}

/**
 * Creates an empty database, without tables, on the run's server of that kind or on the server at `url`. The caller
 * must `drop()` it.
 */
export async function createDatabase(target: DatabaseTarget, url?: string): Promise<TestDatabase> {
  const name = `authwire_test_${randomBytes(6).toString("hex")}`
  if (target === "sqlite") return sqliteDatabase(join(runFolder(), `${name}.db`))
  const serverUrl = url ?? serverUrlOf(target)
  if (serverUrl === undefined) throw new Error(`this run has no ${target}`)
  return serverDatabase(target, serverUrl, name)
}

/**
 * Starts a MariaDB or MySQL server, whichever is installed, for one test file, so that the test can kill it. Null if
 * neither is installed. The caller must `remove()` it.
 *
 * @param options Further options of the server program.
 */
export async function startPrivateDatabase(
  engine: ServerEngine | undefined = findServer("mariadb") ? "mariadb" : "mysql",
  options: readonly string[] = [],
): Promise<PrivateServer | null> {
  return findServer(engine) === undefined ? null : createServerProcess(engine, runFolder(), options)
}

/** The server of this run, which the global set-up found or started. */
function serverUrlOf(engine: ServerEngine): string | undefined {
  return process.env[`AUTHWIRE_TEST_${engine.toUpperCase()}_URL`] || undefined
}

/** Creates an empty database on a server that `startPrivateDatabase` started. */
export function createDatabaseOn(server: PrivateServer): Promise<TestDatabase> {
  return serverDatabase(server.engine, server.url, `authwire_test_${randomBytes(6).toString("hex")}`)
}

const fresh = { mysql: "group_replication_consistency = 'BEFORE'", mariadb: "wsrep_sync_wait = 7" }

async function serverDatabase(target: ServerEngine, serverUrl: string, name: string): Promise<TestDatabase> {
  if (target === "postgres") {
    const database = await postgresDatabase(serverUrl, name)
    return { target, ...database, urlOn: () => database.url }
  }
  const urls = urlsOfHosts(serverUrl).map((url) => Object.assign(new URL(url), { pathname: `/${name}` }))
  const [url] = urls as [URL]
  const first = await connect(Object.assign(new URL(url), { pathname: "/" }).href)
  await first.query(`CREATE DATABASE ${name}`)
  await first.end()
  let connection: Promise<Connection> | undefined
  const connected = () => {
    connection ??= connect(url.href).then(async (opened) => {
      // Makes commits of other members visible.
      if (urls.length > 1) await opened.query(`SET SESSION ${fresh[target]}`)
      // After the server was killed, the next statement connects again.
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
    urlOn: (member) => (urls[member % urls.length] ?? url).href,
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

/** Returns the database of a file, which need not exist. */
export function sqliteDatabase(path: string): TestDatabase {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
  let database: InstanceType<typeof DatabaseSync> | undefined
  return {
    target: "sqlite",
    url: `sqlite:${path}`,
    urlOn: () => `sqlite:${path}`,
    async query(sql, params = []) {
      // Waits for a lock of the service as long as the drivers of servers do.
      database ??= new DatabaseSync(path, { timeout: 5_000 })
      const statement = database.prepare(sql)
      const cells = params as never[]
      if (statement.columns().length === 0) {
        statement.run(...cells)
        return []
      }
      const rows: Row[] = statement.all(...cells)
      // The drivers of servers return bytes as a Buffer too.
      for (const row of rows)
        for (const [name, cell] of Object.entries(row)) if (cell instanceof Uint8Array) row[name] = Buffer.from(cell)
      return rows
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
