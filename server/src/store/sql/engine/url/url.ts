import { existsSync } from "node:fs"
import { isAbsolute, join } from "node:path"
import { parseServerUrl, type ServerLocation } from "./mysql-url.js"
import { decoded } from "./parameters.js"
import { type PostgresLocation, parsePostgresUrl } from "./postgres-url.js"

export type { ServerLocation } from "./mysql-url.js"
export type { PostgresLocation } from "./postgres-url.js"

/** The location of a database: a SQLite file (or `:memory:`), a MySQL or MariaDB server, or a PostgreSQL server. */
export type DatabaseLocation =
  | { kind: "sqlite"; path: string; ignored: readonly string[] }
  | ({ kind: "server" } & ServerLocation)
  | ({ kind: "postgres" } & PostgresLocation)

/**
 * Parses a database URL, for every command that opens a database:
 *
 * - `sqlite:PATH`, `sqlite::memory:`, and Prisma's `file:PATH`, whose parameters are ignored. Its path may begin at the
 *   folder of the schema, `prisma/`.
 * - `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, `mariadb://…`: see parseServerUrl. urlsOfHosts splits a URL with several
 *   hosts first.
 * - `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, `postgresql://…`: see parsePostgresUrl.
 *
 * Throws a TypeError that does not quote the URL, because it may contain a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url.startsWith("sqlite:")) return sqliteLocation(url.slice("sqlite:".length), [])
  if (url.startsWith("file:")) {
    const [path = "", query = ""] = url.slice("file:".length).split("?", 2)
    // `file:///path` has an empty host.
    const file = decoded("the file", path.replace(/^\/\/(?=\/)/, ""))
    return sqliteLocation(inSchemaFolder(file), [...new URLSearchParams(query).keys()])
  }
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: "postgres", ...parsePostgresUrl(url) }
  if (/^(mysql|mariadb):\/\//.test(url)) return { kind: "server", ...parseServerUrl(url) }
  throw new TypeError("the database URL must be mysql://USER:PASSWORD@HOST:PORT/DATABASE, postgres://… or sqlite:PATH")
}

/** Returns the path of a file that Prisma names: an existing one below the working folder, or beside the schema. */
function inSchemaFolder(path: string): string {
  const besideSchema = join("prisma", path)
  return isAbsolute(path) || existsSync(path) || !existsSync(besideSchema) ? path : besideSchema
}

function sqliteLocation(path: string, ignored: readonly string[]): DatabaseLocation {
  if (path === "") throw new TypeError("the database URL names no file: sqlite:PATH")
  return { kind: "sqlite", path, ignored }
}
