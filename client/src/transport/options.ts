import type { Transport } from "@connectrpc/connect"
import { missingOption, wrongOption } from "../errors/error.js"

/** Options of the connection to the service that apply to every transport. */
export interface ConnectionOptions {
  /** The URL of the service. Each entry point documents the schemes that it accepts. */
  url: string
  /**
   * The key that authenticates this application to the service. Each call sends it as `authorization: Bearer …`.
   * Visible ASCII characters without spaces. By convention, applications hold it in the environment variable
   * AUTHWIRE_API_KEY. The variable AUTHWIRE_API_KEYS belongs to the service and lists all keys that it accepts.
   * Default: none.
   */
  apiKey?: string | undefined
  /**
   * The timeout of each call, in milliseconds, including its retry. A timeout that is given to a single call takes
   * precedence. Sensible range: 500 to 30,000. Default: 5,000.
   */
  timeoutMs?: number | undefined
  /**
   * Additional request headers of every call. Names are case-insensitive, values are printable ASCII. These headers are
   * rejected: names that the protocols use themselves (`grpc-…`, `connect-…`, `content-…`, `te`, `host`), binary
   * headers (`…-bin`), `authorization` if `apiKey` is set, and `idempotency-key`, because each writing call has its own
   * key. Default: none.
   */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * A custom Connect transport for the calls: for another protocol, for interceptors or for tests. It receives the
   * headers, deadlines and retries of the other options. `url` then only names the service in messages, and closing the
   * client does not close the transport. A transport of `@connectrpc/connect-node` over HTTP/1.1 needs an agent with
   * `scheduling: "fifo"`, because Node's default agent may use a connection that it has just closed. Default: a
   * transport created for `url`.
   */
  transport?: Transport | undefined
}

/** The default of `timeoutMs`. */
export const defaultTimeoutMs = 5_000

/** The longest delay of a JavaScript timer, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1

/** Throws AuthwireError (INVALID_ARGUMENT) for an invalid option. It names the option and the rule, no value. */
export function checkOptions(options: ConnectionOptions): void {
  if (typeof options !== "object" || options === null) throw wrongOption("url", "is required")
  const { apiKey, timeoutMs, headers, transport } = options
  if (typeof apiKey === "string" && apiKey.trimStart().startsWith("["))
    throw wrongOption("apiKey", "must be one key (AUTHWIRE_API_KEY), not the service's list (AUTHWIRE_API_KEYS)")
  if (apiKey !== undefined && apiKey !== "" && !(typeof apiKey === "string" && /^[\x21-\x7e]+$/.test(apiKey)))
    throw wrongOption("apiKey", "must be visible ASCII characters, without spaces or line breaks, and not empty")
  if (timeoutMs !== undefined && !(typeof timeoutMs === "number" && timeoutMs >= 1 && timeoutMs <= maxTimeoutMs))
    throw wrongOption("timeoutMs", `must be a number of milliseconds from 1 to ${maxTimeoutMs}`)
  if (transport !== undefined && typeof transport?.unary !== "function")
    throw wrongOption("transport", "must be a Transport of @connectrpc/connect")
  if (headers !== undefined) checkHeaders(headers, apiKey !== undefined)
}

/**
 * Returns a transport on which every call fails, if `url` is missing or empty or `apiKey` is empty. The calls report the
 * option, instead of the creation of the client, because applications are also built without their environment
 * variables, and the build loads this module.
 */
export function missingOptionTransport({ url, apiKey }: ConnectionOptions): Transport | undefined {
  const isMissing = url === undefined || url === null || url === ""
  if (!isMissing && apiKey !== "") return undefined
  const fail = () => Promise.reject(missingOption(isMissing ? "url" : "apiKey"))
  return { unary: fail, stream: fail }
}

function checkHeaders(headers: Readonly<Record<string, string>>, hasApiKey: boolean): void {
  if (typeof headers !== "object" || headers === null) throw wrongOption("headers", "must be an object of strings")
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[0-9a-z_.-]+$/i.test(name)) throw wrongOption("headers", "must have names of letters, digits, - _ and .")
    if (/^(grpc-|connect-|content-|te$|host$)|-bin$/i.test(name))
      throw wrongOption(`headers.${name}`, "is a header name that the protocol reserves")
    if (/^idempotency-key$/i.test(name)) throw wrongOption(`headers.${name}`, "must differ from call to call")
    if (hasApiKey && /^authorization$/i.test(name))
      throw wrongOption("headers.authorization", "must not be combined with the option apiKey")
    if (typeof value !== "string" || !/^[\x20-\x7e]*$/.test(value))
      throw wrongOption(`headers.${name}`, "must be a string of printable ASCII characters")
  }
}

/** Returns the request headers that the options define. */
export function headersOf({ apiKey, headers }: ConnectionOptions): Headers {
  const result = new Headers(headers)
  if (apiKey !== undefined) result.set("authorization", `Bearer ${apiKey}`)
  return result
}

/** The address of the service. */
export interface ServerAddress {
  /** A name or an IP address. An IPv6 address has no brackets. */
  readonly host: string
  readonly port: number
  /** Both as in the URL, for error messages. */
  readonly address: string
}

/** Returns the address in an `http:` or `https:` URL. Without a port, it is the default port of the scheme. */
export function serverOf({ protocol, host, hostname, port }: URL): ServerAddress {
  const number = Number(port || (protocol === "https:" ? 443 : 80))
  return { host: hostname.replace(/^\[|\]$/g, ""), port: number, address: host }
}

/** Checks and parses an `http:` or `https:` URL. Errors do not contain the URL, because it might hold a password. */
export function parseHttpUrl(url: unknown, schemes: string): URL {
  if (typeof url !== "string" || !/^https?:\/\//i.test(url)) throw wrongOption("url", `must begin with ${schemes}`)
  if (!URL.canParse(url)) throw wrongOption("url", "must be a valid URL")
  const parsed = new URL(url)
  if (parsed.username !== "" || parsed.password !== "")
    throw wrongOption("url", "must not contain a user name or password; use the option apiKey")
  if (parsed.search !== "" || parsed.hash !== "") throw wrongOption("url", "must not have a query or fragment")
  return parsed
}
