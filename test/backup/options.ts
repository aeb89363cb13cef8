import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseTarget } from "@authwire/test-support/databases/databases.js"

/** Writes .my.cnf into a folder, with which the programs of MySQL and MariaDB connect to a server. Appends `more`. */
export function writeClientOptions(folder: string, databaseUrl: string, more: readonly string[] = []): void {
  const { hostname, port, username, password } = new URL(databaseUrl)
  const options = [
    "[client]",
    `host=${hostname}`,
    `port=${port}`,
    `user=${decodeURIComponent(username)}`,
    ...(password === "" ? [] : [`password="${decodeURIComponent(password)}"`]),
    ...more,
  ]
  writeFileSync(join(folder, ".my.cnf"), `${options.join("\n")}\n`, { mode: 0o600 })
}

/** Returns the variables with which PostgreSQL's programs connect to a server, or none for other databases. */
export function libpqVariables(target: DatabaseTarget, databaseUrl: string): Record<string, string> {
  if (target !== "postgres") return {}
  const { hostname, port, username, password } = new URL(databaseUrl)
  const decoded = { PGUSER: decodeURIComponent(username), PGPASSWORD: decodeURIComponent(password) }
  return { PGHOST: hostname, PGPORT: port, ...decoded }
}
