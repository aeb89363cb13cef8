import type { Transport } from "@connectrpc/connect"
import { wrongOption } from "./error.js"

/** How to reach the service, whatever carries the calls. */
export interface ConnectionOptions {
  /** Where the service is. Each entry point says which schemes it takes. */
  url: string
  /**
   * The key that names this application to the service, sent as `authorization: Bearer …` with every call. Visible
   * ASCII characters without spaces. By custom it is in the environment of the application as AUTHWIRE_API_KEY;
   * AUTHWIRE_API_KEYS, in that of the service, is the list of the keys that it knows. Default: none.
   */
  apiKey?: string | undefined
  /**
   * The deadline of each call, in milliseconds; a repeated try is inside it. A call that is given a time-out of its own
   * has that. Sane range: 500 to 30,000. Default: 5,000.
   */
  timeoutMs?: number | undefined
  /**
   * Further request headers of every call. Names in any case; values of printable ASCII. Names that the protocols use
   * themselves (`grpc-…`, `connect-…`, `content-…`, `te`, `host`) and binary ones (`…-bin`) are rejected, and so are
   * `authorization` beside `apiKey` and `idempotency-key`, which each call that writes has for itself. Default: none.
   */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * Your own Connect transport to carry the calls: for another protocol, for interceptors, for tests. It gets the
   * headers, deadlines and repeated tries of the other options; `url` then only names the service in messages, and
   * closing the client does not close the transport. One of `@connectrpc/connect-node` over HTTP/1.1 wants an agent with
   * `scheduling: "fifo"`: Node's own may hand out a connection that it has just closed. Default: one made for `url`.
   */
  transport?: Transport | undefined
}

/** The default of `timeoutMs`. */
export const defaultTimeoutMs = 5_000

/** The longest that a timer of JavaScript can wait, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1

/** Throws AuthwireError with the code INVALID_ARGUMENT, which names the option and the rule, never the value. */
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
 * The option without which no call can be made and that is not there, or empty. That is told by the calls, not when the
 * client is made: applications are also built where their environment is not, and load the module then.
 */
export function missingOf({ url, apiKey }: ConnectionOptions): "url" | "apiKey" | undefined {
  if (url === undefined || url === null || url === "") return "url"
  return apiKey === "" ? "apiKey" : undefined
}

function checkHeaders(headers: Readonly<Record<string, string>>, hasApiKey: boolean): void {
  if (typeof headers !== "object" || headers === null) throw wrongOption("headers", "must be an object of strings")
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[0-9a-z_.-]+$/i.test(name)) throw wrongOption("headers", "must have names of letters, digits, - _ and .")
    if (/^(grpc-|connect-|content-|te$|host$)|-bin$/i.test(name))
      throw wrongOption(`headers.${name}`, "is a name that belongs to the protocol")
    if (/^idempotency-key$/i.test(name)) throw wrongOption(`headers.${name}`, "must differ from call to call")
    if (hasApiKey && /^authorization$/i.test(name))
      throw wrongOption("headers.authorization", "must not stand beside the option apiKey")
    if (typeof value !== "string" || !/^[\x20-\x7e]*$/.test(value))
      throw wrongOption(`headers.${name}`, "must be a string of printable ASCII characters")
  }
}

/** The headers that the options ask for. */
export function headersOf({ apiKey, headers }: ConnectionOptions): Headers {
  const result = new Headers(headers)
  if (apiKey !== undefined) result.set("authorization", `Bearer ${apiKey}`)
  return result
}

/** Checks an `http:` or `https:` URL and parses it. Errors do not repeat it: it might hold a password. */
export function parseHttpUrl(url: unknown, schemes: string): URL {
  if (typeof url !== "string" || !/^https?:\/\//i.test(url)) throw wrongOption("url", `must begin with ${schemes}`)
  if (!URL.canParse(url)) throw wrongOption("url", "must be a valid URL")
  const parsed = new URL(url)
  if (parsed.username !== "" || parsed.password !== "")
    throw wrongOption("url", "must not hold a user name or password; use the option apiKey")
  if (parsed.search !== "" || parsed.hash !== "") throw wrongOption("url", "must not have a query or fragment")
  return parsed
}
