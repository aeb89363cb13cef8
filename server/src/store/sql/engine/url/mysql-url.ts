import { isIP } from "node:net"
import { isObject, parsedJson } from "../../../../util/json.js"
import { parsedUrl, partNames, partsOf, UrlParameters } from "./parameters.js"
import { type Tls, type TlsLevel, tlsOf } from "./tls.js"

/** The location of a MySQL or MariaDB server. */
export interface ServerLocation {
  host: string
  /** The address to use, if the host has several. */
  address?: string
  port: number
  socketPath: string | undefined
  username: string
  password: string
  /** Returns the password of a new connection, in place of `password`. */
  readPassword?: (() => Promise<string>) | undefined
  database: string
  tls: Tls
  /** The names of the parameters that have no effect. */
  ignored: readonly string[]
}

const levels = {
  DISABLED: "none",
  PREFERRED: "preferred",
  REQUIRED: "encrypted",
  VERIFY_CA: "authority",
  VERIFY_IDENTITY: "identity",
} as const satisfies Record<string, TlsLevel>
const modes = Object.keys(levels) as (keyof typeof levels)[]
const ofTls = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "sslaccept", "sslcert", "ssl"]
const known = [...partNames, "socket", "socketPath", ...ofTls]

/**
 * Parses `mysql://USER:PASSWORD@HOST:PORT/DATABASE` (default port 3306; `mariadb://` is the same), with the following
 * parameters, which have the names and meanings of MySQL's own programs:
 *
 * - `ssl-mode`: `DISABLED`, the default; `PREFERRED`: encrypted if the server offers it; `REQUIRED`: encrypted without
 *   verification of the server; `VERIFY_CA`; `VERIFY_IDENTITY`: the certificate must also name the host.
 * - `ssl-ca`, `ssl-cert`, `ssl-key`: paths of PEM files. `ssl-ca` without `ssl-mode` is `VERIFY_CA`, the others are
 *   `REQUIRED`.
 * - `socket`, or `socketPath` of Node's driver: the path of a Unix socket, in place of host and port.
 * - `port`, `user`, `password`: in place of the port, the user and the password.
 * - `sslaccept` and `sslcert`, of Prisma: `strict` is `VERIFY_IDENTITY`, `accept_invalid_certs` is `REQUIRED`; `sslcert`
 *   is `ssl-ca`.
 * - `ssl`, of Node's driver: `true` is `VERIFY_IDENTITY`, `false` is `DISABLED`, and an object may have
 *   `rejectUnauthorized`.
 *
 * Throws a TypeError that does not quote the URL, because it may contain a password.
 */
export function parseServerUrl(text: string): ServerLocation {
  const url = parsedUrl(text, "mysql://USER:PASSWORD@HOST:PORT/DATABASE")
  const parameters = new UrlParameters(url, known)
  const { host, port = 3306, username, password, database } = partsOf(url, parameters)
  if (database === "") throw new TypeError("the database URL names no database: mysql://…/DATABASE")
  return {
    host,
    port,
    socketPath: parameters.get("socket") ?? parameters.get("socketPath"),
    username,
    password,
    database,
    tls: tlsOfParameters(host, parameters),
    ignored: parameters.ignored,
  }
}

function tlsOfParameters(host: string, parameters: UrlParameters): Tls {
  const [ca = parameters.get("sslcert"), cert, key] = ["ssl-ca", "ssl-cert", "ssl-key"].map((name) =>
    parameters.get(name),
  )
  const level = levels[modeOf(parameters, ca, cert)]
  // The driver does not check the IP addresses of a certificate.
  if (level === "identity" && isIP(host) !== 0) throw new TypeError("VERIFY_IDENTITY needs the name of a host")
  return tlsOf(level, { ca, cert, key })
}

function modeOf(parameters: UrlParameters, ca?: string, cert?: string): keyof typeof levels {
  const mode = parameters.oneOf("ssl-mode", modes)
  if (mode !== undefined) return mode
  const accept = parameters.oneOf("sslaccept", ["strict", "accept_invalid_certs"])
  if (accept !== undefined) return accept === "strict" ? "VERIFY_IDENTITY" : "REQUIRED"
  const flag = parsedJson(parameters.get("ssl") ?? "null")
  if (flag === true || flag === 1) return "VERIFY_IDENTITY"
  if (flag === false || flag === 0) return "DISABLED"
  if (isObject(flag)) return flag.rejectUnauthorized === false ? "REQUIRED" : "VERIFY_IDENTITY"
  if (parameters.get("ssl") !== undefined) throw new TypeError("ssl must be true, false or an object of JSON")
  if (ca !== undefined) return "VERIFY_CA"
  return cert === undefined ? "DISABLED" : "REQUIRED"
}
