import { createRequire } from "node:module"
import type Libsql from "libsql"

/** Opens a SQLite file. The driver is loaded only when needed. */
export function openSqlite(path: string, options?: Libsql.Options): Libsql.Database {
  const Database = createRequire(import.meta.url)("libsql") as typeof Libsql
  return new Database(path, options)
}
