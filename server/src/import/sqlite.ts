import { createRequire } from "node:module"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type Libsql from "libsql"

/** How long a read waits while another process commits, in milliseconds. */
const busyTimeoutMs = 10_000

/** Opens a SQLite file. The driver is loaded only when needed. */
export function openSqlite(path: string, options?: Libsql.Options): Libsql.Database {
  const Database = createRequire(import.meta.url)("libsql") as typeof Libsql
  return new Database(path, options)
}

/**
 * Opens a SQLite file that cannot be written. The driver ignores its own option for that, and would move the write-ahead
 * log of another process into the file.
 */
export function openSqliteToRead(path: string): Libsql.Database {
  const database = openSqlite(`${pathToFileURL(resolve(path))}?mode=ro`)
  database.pragma(`busy_timeout = ${busyTimeoutMs}`)
  return database
}
