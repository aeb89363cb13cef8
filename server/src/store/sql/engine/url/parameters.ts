import { queryOf } from "../../../../util/utf8.js"

/**
 * Parameters that other programs read from a connection string, and that have no meaning here: limits of their own pools,
 * and settings of proxies. They are ignored, and named to the operator.
 */
const ignored: ReadonlySet<string> = new Set([
  // Prisma
  "connection_limit",
  "pool_timeout",
  "connect_timeout",
  "socket_timeout",
  "pgbouncer",
  "statement_cache_size",
  "max_idle_connection_lifetime",
  "max_connection_lifetime",
  // libpq
  "keepalives",
  "keepalives_idle",
  "keepalives_interval",
  "keepalives_count",
  "tcp_user_timeout",
  "target_session_attrs",
  "gssencmode",
  "channel_binding",
  "sslnegotiation",
  "sslcompression",
  "client_encoding",
  "fallback_application_name",
  // Supabase and Node's driver of PostgreSQL
  "supa",
  "workaround",
  "uselibpqcompat",
  // Drivers of MySQL
  "charset",
  "timezone",
  "serverTimezone",
  "useSSL",
  "allowPublicKeyRetrieval",
  "connectTimeout",
  "connectionLimit",
  "multipleStatements",
])

/** The parameters of a database URL, decoded. The last one of a name counts, as in libpq. */
export class UrlParameters {
  readonly #given: ReadonlyMap<string, string>
  /** The names of the parameters that have no effect here. */
  readonly ignored: readonly string[]

  /**
   * Throws a TypeError if a parameter is neither known nor ignored, or is not UTF-8.
   *
   * @param known The names of the parameters that have an effect.
   */
  constructor(url: URL, known: readonly string[]) {
    const given = queryOf(url.search.slice(1))
    if (given === undefined) throw notUtf8("the parameters")
    this.#given = new Map(given)
    this.ignored = [...this.#given.keys()].filter((name) => !known.includes(name))
    const unknown = this.ignored.find((name) => !ignored.has(name))
    if (unknown === undefined) return
    const names = known.join(", ")
    throw new TypeError(`the database URL has an unknown parameter: ${unknown}. The parameters are ${names}`)
  }

  get(name: string): string | undefined {
    return this.#given.get(name)
  }

  /** Returns the value of a parameter. Throws a TypeError if it is not one of `values`. */
  oneOf<const Values extends readonly string[]>(name: string, values: Values): Values[number] | undefined {
    const value = this.#given.get(name)
    if (value === undefined || values.includes(value)) return value
    throw new TypeError(`${name} must be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`)
  }
}

/** The parameters that stand for parts of a URL: `user`, `password` and `port`. */
export const partNames = ["user", "password", "port"] as const

/**
 * Parses a URL. Without a host, also beside a user or a port, the host is `localhost`. Throws a TypeError with the `form` of a
 * URL if it is none.
 */
export function parsedUrl(text: string, form: string): URL {
  // The URL standard requires a host there.
  const complete = text.replace(/^(\w+:\/\/(?:[^/?#]*@)?)(?=[:/?#]|$)(?![^/?#]*@)/, "$1localhost")
  if (!URL.canParse(complete)) throw new TypeError(`the database URL must be ${form}`)
  return new URL(complete)
}

/** The parts of a database URL, decoded. */
interface UrlParts {
  host: string
  /** Undefined: the default of the server. */
  port: number | undefined
  username: string
  password: string
  database: string
}

/**
 * Returns the parts of a URL whose host may be in brackets. A parameter takes the place of its part, as in libpq and Node's
 * drivers. Throws a TypeError if the port is none, or a part is not UTF-8.
 */
export function partsOf(url: URL, parameters: UrlParameters): UrlParts {
  const port = parameters.get("port") ?? url.port
  if (!/^\d{0,5}$/.test(port) || Number(port) > 65535) throw new TypeError("port must be a number up to 65535")
  return {
    // An IPv6 address is in brackets only within a URL. The slashes of a directory are encoded there.
    host: decoded("the host", url.hostname).replace(/^\[(.*)\]$/, "$1") || "localhost",
    port: Number(port) || undefined,
    username: parameters.get("user") ?? decoded("the user", url.username),
    password: parameters.get("password") ?? decoded("the password", url.password),
    database: decoded("the database", url.pathname.slice(1)),
  }
}

/** Decodes a part of a database URL. Throws a TypeError, which does not quote it, if it is not UTF-8. */
export function decoded(part: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notUtf8(part)
  }
}

function notUtf8(part: string): TypeError {
  return new TypeError(`${part} in the database URL must be encoded UTF-8; a % of its own is %25`)
}
