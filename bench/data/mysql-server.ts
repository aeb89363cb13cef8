import { readFileSync, rmSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { createRunFolder, createServerProcess, findServer } from "@authwire/test-support/databases/servers.js"
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise"

/** The database server on which everything is measured. */
export interface MysqlServer {
  /** The name and version: `MySQL 9.7.0`, `MariaDB 11.4.2`. */
  readonly version: string
  /** The server's settings that affect performance. */
  readonly settings: Record<string, string>
  /** The process id, if the server runs on this machine and is visible. */
  readonly pid: number | null
  /** Returns the URL of one of its databases. */
  url(database: string): string
  /** Runs statements of the benchmark itself. */
  readonly pool: Pool
  close(): Promise<void>
}

const settings = [
  "innodb_buffer_pool_size",
  "innodb_flush_log_at_trx_commit",
  "sync_binlog",
  "log_bin",
  "max_connections",
  "performance_schema",
]

/**
 * Opens the server at AUTHWIRE_BENCH_MYSQL_URL or AUTHWIRE_TEST_MYSQL_URL. Without either, starts one for this run.
 *
 * @param bufferPoolBytes - The buffer pool size that the data needs. The server's setting is raised to it if possible,
 * and restored by `close`.
 */
export async function openMysqlServer(bufferPoolBytes = 0): Promise<MysqlServer> {
  const given = process.env.AUTHWIRE_BENCH_MYSQL_URL ?? process.env.AUTHWIRE_TEST_MYSQL_URL
  const own = given ? undefined : await startOwn()
  const url = (database: string) => Object.assign(new URL(given ?? own?.url ?? ""), { pathname: `/${database}` }).href
  const pool = createPool({ uri: url(""), connectionLimit: 4, multipleStatements: true, timezone: "Z" })

  async function show(what: "VARIABLES" | "STATUS", name: string): Promise<string> {
    const [rows] = await pool.query<RowDataPacket[]>(`SHOW GLOBAL ${what} LIKE ?`, [name])
    return rows[0]?.Value ?? ""
  }
  const variable = (name: string) => show("VARIABLES", name)

  async function resize(bytes: number): Promise<void> {
    await pool.query("SET GLOBAL innodb_buffer_pool_size = ?", [bytes])
    while (/^(Resizing|Withdrawing)/.test(await show("STATUS", "Innodb_buffer_pool_resize_status"))) await delay(100)
  }

  const before = Number(await variable("innodb_buffer_pool_size"))
  const isResized =
    before < bufferPoolBytes &&
    (await resize(bufferPoolBytes).then(
      () => true,
      () => false,
    ))
  const brand = (await variable("version_comment")).includes("MariaDB") ? "MariaDB" : "MySQL"
  return {
    version: `${brand} ${await variable("version")}`,
    settings: Object.fromEntries(await Promise.all(settings.map(async (name) => [name, await variable(name)]))),
    pid: readPid(await variable("pid_file")),
    pool,
    url,
    async close() {
      if (isResized) await resize(before)
      await pool.end()
      await own?.remove()
    },
  }
}

async function startOwn() {
  const engine = (["mysql", "mariadb"] as const).find((engine) => findServer(engine) !== undefined)
  if (engine === undefined) {
    throw new Error(
      "set AUTHWIRE_BENCH_MYSQL_URL, or install MySQL 8.4+ or MariaDB 10.11+ so that mysqld is on the path",
    )
  }
  const folder = createRunFolder()
  const { url, remove } = await createServerProcess(engine, folder)
  return { url, remove: () => remove().finally(() => rmSync(folder, { recursive: true, force: true })) }
}

/** Returns the id in a pid file, if a process of this machine has it and is a database server. */
function readPid(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, "utf8"))
    return /mysqld|mariadbd/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")) ? pid : null
  } catch {
    return null
  }
}

/** A statement that lets a query make ten million rows by recursion. MySQL and MariaDB have different names for its limit. */
export const deepRecursion =
  "SET SESSION sql_warnings = 0 /*!80000 , cte_max_recursion_depth = 10000000 */ /*M!100600 , max_recursive_iterations = 10000000 */"
