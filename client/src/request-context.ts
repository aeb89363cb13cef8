import { AsyncLocalStorage } from "node:async_hooks"
import type { IncomingMessage } from "node:http"
import type { SessionContext } from "./adapter/context.js"

export type { SessionContext } from "./adapter/context.js"

/** What `withRequestContext` can be told. */
export interface RequestContextOptions extends SessionContext {
  /**
   * How many proxies of your own a request passes before it comes here, each of which adds the address that it was asked from
   * to the header `x-forwarded-for`. With 1 the last entry is the client's address, with 2 the last but one. What stands
   * before it is the client's own word. Default 0: the header is not read, because anybody can send it; the address is
   * that of the connection, where there is one.
   */
  trustedProxies?: number | undefined
}

const storage = new AsyncLocalStorage<SessionContext>()

/**
 * Runs a function, and all that it starts, with what is known of a request: `requestContext` finds it there.
 *
 * @param request - That of Node (`http`, Express), or of the web.
 * @param options - The number of trusted proxies, and what else is known; it wins over what is found in the request.
 * @returns what the function returns.
 * @throws TypeError if `trustedProxies` is no whole number from 0 on.
 * @example
 * ```ts
 * app.use("/auth", (request, response, next) => withRequestContext(request, next, { trustedProxies: 1 }))
 * ```
 */
export function withRequestContext<T>(
  request: Request | IncomingMessage,
  fn: () => T,
  { trustedProxies = 0, ...known }: RequestContextOptions = {},
): T {
  if (!Number.isInteger(trustedProxies) || trustedProxies < 0)
    throw new TypeError("trustedProxies must be a whole number from 0 on")
  const { headers } = request
  const header = (name: string) => (isWeb(headers) ? headers.get(name) : String(headers[name] ?? ""))
  const ip = forwarded(header("x-forwarded-for"), trustedProxies) ?? addressOf(request)
  return storage.run({ ip, userAgent: header("user-agent"), ...known }, fn)
}

/** For the option `context` of the adapter: what is known of the request that is being answered, undefined outside of one. */
export function requestContext(): SessionContext | undefined {
  return storage.getStore()
}

function isWeb(headers: object): headers is Headers {
  return "get" in headers && typeof headers.get === "function"
}

/** The entry that the outermost of the proxies has added; undefined where not all of them were passed. */
function forwarded(header: string | null, proxies: number): string | undefined {
  if (proxies === 0) return undefined
  return header?.split(",").at(-proxies)?.trim() || undefined
}

function addressOf(request: Request | IncomingMessage): string | undefined {
  return "socket" in request ? request.socket.remoteAddress : undefined
}
