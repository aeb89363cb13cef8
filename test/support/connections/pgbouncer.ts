import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { connects, freePort } from "../machine/free-port.ts"
import { outputOf } from "../processes/output.ts"
import { until } from "../until.ts"

/** A PgBouncer in front of a PostgreSQL server. */
export interface PgBouncer {
  /** The URL of the database through it. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts PgBouncer in front of the database of a URL. */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  mode: "session" | "transaction",
): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const own = await freePort()
  const folder = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "pgbouncer-"))
  const file = join(folder, "pgbouncer.ini")
  const server = `host=${hostname} port=${port || 5432} user=${decodeURIComponent(username) || "postgres"}`
  writeFileSync(
    file,
    `[databases]
* = ${server}${password === "" ? "" : ` password=${decodeURIComponent(password)}`}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = extra_float_digits
`,
    { mode: 0o644 },
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : []
  const child = spawn(program, ["-q", ...user, file], { stdio: ["ignore", "ignore", "pipe"] })
  const output = outputOf(child)
  const closed = once(child, "close")
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${output.stderr}`)
    return connects(own)
  })
  return {
    url: `postgres://any@127.0.0.1:${own}${pathname}`,
    async stop() {
      child.kill("SIGTERM")
      await closed
    },
  }
}
