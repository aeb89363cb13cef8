import { parsedUrl, partNames, partsOf, UrlParameters } from "./parameters.js"
import { type Tls, type TlsLevel, tlsOf } from "./tls.js"

/** The location of a PostgreSQL database. */
export interface PostgresLocation {
  /** The name or address of the host, or the directory of its Unix socket. */
  host: string
  port: number
  /** Default: the driver uses the name of the process's user. */
  username: string | undefined
  password: string
  /** Returns the password of a new connection, in place of `password`. */
  readPassword?: (() => Promise<string>) | undefined
  database: string
  tls: Tls
  /** The schema of the tables. Default: that of the `search_path` of the role. */
  schema: string | undefined
  /** Command-line options for the server's process of each connection. */
  options: string | undefined
  applicationName: string | undefined
  /** The names of the parameters that have no effect. */
  ignored: readonly string[]
}

const levels = {
  disable: "none",
  allow: "preferred",
  prefer: "preferred",
  require: "encrypted",
  "no-verify": "encrypted",
  "verify-ca": "authority",
  "verify-full": "identity",
} as const satisfies Record<string, TlsLevel>
const modes = Object.keys(levels) as (keyof typeof levels)[]
const flags = ["true", "1", "false", "0", "no-verify"] as const
const known = [
  ...partNames,
  "host",
  "dbname",
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "ssl",
  "schema",
  "options",
  "application_name",
]

/**
 * Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE` (default port 5432; `postgresql://` is the same), with the
 * following parameters, which have the names and meanings of libpq, PostgreSQL's own library:
 *
 * - `sslmode`: `disable`, the default; `allow` and `prefer`: encrypted if the server offers it; `require`: encrypted
 *   without verification of the server, or like `verify-ca` if there is `sslrootcert`; `verify-ca`; `verify-full`: the
 *   certificate must also name the host. `no-verify`, a name of Node's driver, is encrypted without verification.
 * - `sslrootcert`, `sslcert`, `sslkey`: paths of PEM files. One of them without `sslmode` is `require`. `system` for
 *   `sslrootcert` stands for the authorities that Node trusts, with `verify-full`.
 * - `ssl`, of Node's driver: `true` is `verify-full`, `false` is `disable`.
 * - `host`: the directory of a Unix socket, or a host, in place of the host. A socket is never encrypted.
 * - `port`, `user`, `password`, `dbname`: in place of the port, the user, the password and the database.
 * - `schema`, of Prisma: the schema of the tables.
 * - `options`, `application_name`: are passed on to the server.
 *
 * Throws a TypeError that does not quote the URL, because it may contain a password.
 */
export function parsePostgresUrl(text: string): PostgresLocation {
  const url = parsedUrl(text, "postgres://USER:PASSWORD@HOST:PORT/DATABASE")
  const parameters = new UrlParameters(url, known)
  const { host: named, port = 5432, username, password, database: path } = partsOf(url, parameters)
  const database = parameters.get("dbname") ?? path
  if (database === "") throw new TypeError("the database URL names no database: postgres://…/DATABASE")
  const host = parameters.get("host") ?? named
  if (host.includes(",")) throw new TypeError("the database URL must name one host of PostgreSQL")
  const tls = tlsOfParameters(parameters)
  return {
    host,
    port,
    username: username || undefined,
    password,
    database,
    tls: host.startsWith("/") ? tlsOf("none", {}) : tls,
    schema: parameters.get("schema"),
    options: parameters.get("options"),
    applicationName: parameters.get("application_name"),
    ignored: parameters.ignored,
  }
}

function tlsOfParameters(parameters: UrlParameters): Tls {
  const mode = parameters.oneOf("sslmode", modes)
  const flag = parameters.oneOf("ssl", flags)
  const [ca, cert, key] = ["sslrootcert", "sslcert", "sslkey"].map((name) => parameters.get(name))
  if (ca === "system") {
    if (mode !== undefined && mode !== "verify-full")
      throw new TypeError("sslrootcert=system needs sslmode=verify-full")
    return tlsOf("identity", { cert, key })
  }
  const files = { ca, cert, key }
  if (mode === undefined && flag !== undefined) {
    return tlsOf(flag === "no-verify" ? "encrypted" : flag === "true" || flag === "1" ? "identity" : "none", files)
  }
  // A certificate that is given and not used would be a connection in plain text that looks protected.
  const isMeant = ca !== undefined || cert !== undefined
  const level = levels[mode ?? (isMeant ? "require" : "disable")]
  return tlsOf(level === "encrypted" && mode !== "no-verify" && ca !== undefined ? "authority" : level, files)
}
