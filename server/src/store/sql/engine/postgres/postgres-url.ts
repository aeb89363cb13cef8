import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"

/** The location of a PostgreSQL database. */
export interface PostgresLocation {
  /** The name or address of the host, or the directory of its Unix socket. */
  host: string
  port: number
  /** Default: the driver uses the name of the process's user. */
  username: string | undefined
  password: string
  database: string
  ssl: PostgresTls | undefined
}

type PostgresTls = Pick<ConnectionOptions, "rejectUnauthorized" | "checkServerIdentity" | "ca" | "cert" | "key">

const form = "postgres://USER:PASSWORD@HOST:PORT/DATABASE"
const parameters = ["host", "sslmode", "sslrootcert", "sslcert", "sslkey"]
const modes = ["disable", "no-verify", "require", "verify-ca", "verify-full"]

/**
 * Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE` (default port 5432; `postgresql://` is the same), with the
 * following parameters, which have the names of PostgreSQL's own programs:
 *
 * - `sslmode`: `disable`, the default; `require`: encrypted without verification of the server, or like `verify-ca` if
 *   there is `sslrootcert`; `verify-ca`; `verify-full`: the certificate must also name the host. `no-verify`, a name of
 *   Node's driver, is encrypted without verification.
 * - `sslrootcert`, `sslcert`, `sslkey`: paths of PEM files.
 * - `host`: the directory of a Unix socket, in place of the host.
 *
 * Throws a TypeError that does not quote the URL, because it may contain a password.
 */
export function parsePostgresUrl(url: string): PostgresLocation {
  if (!URL.canParse(url)) throw new TypeError(`the database URL must be ${form}`)
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const database = decodeURIComponent(pathname.slice(1))
  if (database === "") throw new TypeError("the database URL names no database: postgres://…/DATABASE")
  for (const name of searchParams.keys()) {
    if (!parameters.includes(name)) throw new TypeError(`the database URL has an unknown parameter: ${name}`)
  }
  // An IPv6 address is in brackets only within a URL. The slashes of a directory are encoded there.
  const named = decodeURIComponent(hostname).replace(/^\[(.*)\]$/, "$1")
  const host = searchParams.get("host") ?? (named || "localhost")
  if (host.includes(",")) throw new TypeError("the database URL must name one host of PostgreSQL")
  return {
    host,
    port: port === "" ? 5432 : Number(port),
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password),
    database,
    ssl: sslOptions(searchParams),
  }
}

function sslOptions(parameters: URLSearchParams): PostgresTls | undefined {
  const mode = parameters.get("sslmode") ?? "disable"
  if (!modes.includes(mode)) throw new TypeError(`sslmode must be ${modes.join(", ")}`)
  if (mode === "disable") return undefined
  const rootCert = parameters.get("sslrootcert")
  const verifies = mode.startsWith("verify-") || (mode === "require" && rootCert !== null)
  const options: PostgresTls = { rejectUnauthorized: verifies }
  if (mode !== "verify-full") options.checkServerIdentity = () => undefined
  for (const [name, path] of [
    ["ca", rootCert],
    ["cert", parameters.get("sslcert")],
    ["key", parameters.get("sslkey")],
  ] as const) {
    if (path !== null) options[name] = readFileSync(path, "utf8")
  }
  return options
}
