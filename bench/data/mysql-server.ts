import { readFileSync, rmSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { createRunFolder, createServerProcess, findServer } from "@authwire/test-support/servers.js"
import { createPool, type Pool } from "mysql2/promise"

/** The database server that everything is measured on. */
export interface MysqlServer {
  /** `9.7.0`, or what MariaDB says. */
  readonly version: string
  /** Settings that decide about speed, as the server has them. */
  readonly settings: Record<string, string>
  /** Process id, where it runs on this machine and may be seen. */
  readonly pid: number | null
  /** The URL of one of its databases. */
  url(database: string): string
  /** For statements of the measurement itself. */
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
 * The server at AUTHWIRE_BENCH_MYSQL_URL or AUTHWIRE_TEST_MYSQL_URL; else one that is started for this run.
 *
 * @param bufferPoolBytes - Memory for pages, as large as the data: asked of the server, and undone by `close`.
 */
export async function openMysqlServer(bufferPoolBytes: number): Promise<MysqlServer> {
  const given = process.env.AUTHWIRE_BENCH_MYSQL_URL ?? process.env.AUTHWIRE_TEST_MYSQL_URL
  const own = given ? undefined : await startOwn()
  const base = new URL(given ?? own?.url ?? "")
  base.pathname = "/"
  const pool = createPool({ uri: base.href, connectionLimit: 4, multipleStatements: true, timezone: "Z" })

  async function variable(name: string): Promise<string> {
    const [rows] = await pool.query("SHOW GLOBAL VARIABLES LIKE ?", [name])
    return (rows as { Value?: string }[])[0]?.Value ?? ""
  }

  const before = await variable("innodb_buffer_pool_size")
  const resized = Number(before) < bufferPoolBytes && (await resize(bufferPoolBytes))

  async function resize(bytes: number | string): Promise<boolean> {
    try {
      await pool.query("SET GLOBAL innodb_buffer_pool_size = ?", [Number(bytes)])
      while (/^(Resizing|Withdrawing)/.test(await status("Innodb_buffer_pool_resize_status"))) await delay(100)
      return true
    } catch {
      return false
    }
  }

  async function status(name: string): Promise<string> {
    const [rows] = await pool.query("SHOW GLOBAL STATUS LIKE ?", [name])
    return (rows as { Value?: string }[])[0]?.Value ?? ""
  }

  return {
    version: `${(await variable("version_comment")).includes("MariaDB") ? "MariaDB " : "MySQL "}${await variable("version")}`,
    settings: Object.fromEntries(await Promise.all(settings.map(async (name) => [name, await variable(name)]))),
    pid: readPid(await variable("pid_file")),
    pool,
    url(database) {
      const url = new URL(base)
      url.pathname = `/${database}`
      return url.href
    },
    async close() {
      if (resized) await resize(before)
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

/** The id in a pid file, if a process of this machine has it and is a database server. */
function readPid(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, "utf8"))
    return /mysqld|mariadbd/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")) ? pid : null
  } catch {
    return null
  }
}
