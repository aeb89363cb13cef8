import type { DatabaseSync } from "node:sqlite"
import { nodeSqlite } from "../store/sql/index.js"

/** How long a read waits while another process commits, in milliseconds. */
const busyTimeoutMs = 10_000

/** Opens a SQLite file. */
export function openSqlite(path: string): DatabaseSync {
  const { DatabaseSync } = nodeSqlite()
  return new DatabaseSync(path)
}

/**
 * Opens a SQLite file that cannot be written. Otherwise closing it would move the write-ahead log of another process
 * into the file.
 */
export function openSqliteToRead(path: string): DatabaseSync {
  const { DatabaseSync } = nodeSqlite()
  return new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })
}
