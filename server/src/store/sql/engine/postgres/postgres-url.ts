import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"

/** Where a database of PostgreSQL is. */
export interface PostgresLocation {
  /** Its name or address, or the folder of its Unix socket. */
  host: string
  port: number
  /** Undefined: the driver takes the name of the process's user. */
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
 * Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE` (port 5432 unless given; `postgresql://` is the same), with these
 * parameters, named as PostgreSQL's own programs name them:
 *
 * - `sslmode`: `disable`, the default; `require`: encrypted, to whomever, or as `verify-ca` where there is `sslrootcert`;
 *   `verify-ca`; `verify-full`: the certificate also names the host. `no-verify`, as Node's driver calls it, is encrypted to
 *   whomever.
 * - `sslrootcert`, `sslcert`, `sslkey`: paths of PEM files.
 * - `host`: the folder of a Unix socket, in place of the host.
 *
 * Throws a TypeError that does not quote the URL, which may hold a password.
 */
export function parsePostgresUrl(url: string): PostgresLocation {
  if (!URL.canParse(url)) throw new TypeError(`the database URL must be ${form}`)
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const database = decodeURIComponent(pathname.slice(1))
  if (database === "") throw new TypeError("the database URL names no database: postgres://…/DATABASE")
  for (const name of searchParams.keys()) {
    if (!parameters.includes(name)) throw new TypeError(`the database URL has an unknown parameter: ${name}`)
  }
  // An IPv6 address stands in brackets in a URL, and nowhere else. A folder has its slashes encoded there.
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
