import { createRequire } from "node:module"
import type Libsql from "libsql"
import { readOnlyUrl } from "../store/sql/index.js"

/** How long a read waits while another process commits, in milliseconds. */
const busyTimeoutMs = 10_000

/** Opens a SQLite file. The driver is loaded only when needed. */
export function openSqlite(path: string): Libsql.Database {
  const Database = createRequire(import.meta.url)("libsql") as typeof Libsql
  return new Database(path)
}

/**
 * Opens a SQLite file that cannot be written. Otherwise closing it would move the write-ahead log of another process
 * into the file.
 */
export function openSqliteToRead(path: string): Libsql.Database {
  const database = openSqlite(readOnlyUrl(path))
  database.pragma(`busy_timeout = ${busyTimeoutMs}`)
  return database
}
