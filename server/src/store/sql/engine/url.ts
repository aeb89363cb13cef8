import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import type { SslOptions } from "mysql2"
import { type PostgresLocation, parsePostgresUrl } from "./postgres/postgres-url.js"

/** The location of a database: a SQLite file (or `:memory:`), a MySQL or MariaDB server, or a PostgreSQL server. */
export type DatabaseLocation =
  | { kind: "sqlite"; path: string }
  | ({ kind: "server" } & ServerLocation)
  | ({ kind: "postgres" } & PostgresLocation)

export interface ServerLocation {
  host: string
  /** The address to use, if the host has several. */
  address?: string
  port: number
  socketPath: string | undefined
  username: string
  password: string
  database: string
  ssl: SslOptions | undefined
}

/**
 * Parses a database URL:
 *
 * - `sqlite:PATH`, `sqlite::memory:`
 * - `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; see parsePostgresUrl.
 * - `mysql://USER:PASSWORD@HOST:PORT/DATABASE` (default port 3306; `mariadb://` is the same), with the following
 *   parameters, which have the names of MySQL's own programs: `ssl-mode` (`DISABLED`, the default; `REQUIRED`:
 *   encrypted, without verification of the server; `VERIFY_CA`; `VERIFY_IDENTITY`: the certificate must also name the
 *   host), `ssl-ca`, `ssl-cert`, `ssl-key` (paths of PEM files), `socket` (path of a Unix socket, in place of host and
 *   port). urlsOfHosts splits a URL with several hosts first.
 *
 * Throws a TypeError that does not quote the URL, because it may contain a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url.startsWith("sqlite:")) {
    const path = url.slice("sqlite:".length)
    if (path === "") throw new TypeError("the database URL names no file: sqlite:PATH")
    return { kind: "sqlite", path }
  }
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: "postgres", ...parsePostgresUrl(url) }
  if (!/^(mysql|mariadb):\/\//.test(url) || !URL.canParse(url)) {
    throw new TypeError(
      "the database URL must be mysql://USER:PASSWORD@HOST:PORT/DATABASE, postgres://… or sqlite:PATH",
    )
  }
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const database = decodeURIComponent(pathname.slice(1))
  if (database === "") throw new TypeError("the database URL names no database: mysql://…/DATABASE")
  for (const name of searchParams.keys()) {
    if (!parameters.includes(name)) throw new TypeError(`the database URL has an unknown parameter: ${name}`)
  }
  // An IPv6 address is in brackets only within a URL.
  const host = hostname.replace(/^\[(.*)\]$/, "$1") || "localhost"
  return {
    kind: "server",
    host,
    port: port === "" ? 3306 : Number(port),
    socketPath: searchParams.get("socket") ?? undefined,
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database,
    ssl: sslOptions(host, searchParams),
  }
}

const parameters = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket"]

function sslOptions(host: string, parameters: URLSearchParams): SslOptions | undefined {
  const mode = parameters.get("ssl-mode") ?? "DISABLED"
  if (mode === "DISABLED") return undefined
  if (!["REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"].includes(mode)) {
    throw new TypeError("ssl-mode must be DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")
  }
  // The driver does not check the IP addresses of a certificate.
  if (mode === "VERIFY_IDENTITY" && isIP(host) !== 0) throw new TypeError("VERIFY_IDENTITY needs the name of a host")
  const options: SslOptions = {
    rejectUnauthorized: mode !== "REQUIRED",
    verifyIdentity: mode === "VERIFY_IDENTITY",
  }
  for (const name of ["ca", "cert", "key"] as const) {
    const path = parameters.get(`ssl-${name}`)
    if (path !== null) options[name] = readFileSync(path, "utf8")
  }
  return options
}
