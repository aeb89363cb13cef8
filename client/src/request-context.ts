import { AsyncLocalStorage } from "node:async_hooks"
import type { IncomingMessage } from "node:http"
import type { SessionContext } from "./adapter/context.js"
import { sharedStorage } from "./sign-in-context.js"

export type { SessionContext } from "./adapter/context.js"

/** Options of `withRequestContext`. */
export interface RequestContextOptions extends SessionContext {
  /**
   * The number of your own proxies that a request passes before it reaches this process. Each of them must append the
   * address of its client to the header `x-forwarded-for`. With 1 the last entry is the address of the user's client,
   * with 2 the second to last. Earlier entries come from that client and cannot be trusted. Default: 0. The header is
   * then ignored, because any client can send it, and the address is that of the connection, if there is one.
   */
  trustedProxies?: number | undefined
}

const storage = sharedStorage(() => new AsyncLocalStorage<SessionContext>())

/**
 * Runs a function with the context of a request. `requestContext` returns this context in the function and in
 * everything that the function starts: the address and the header `user-agent` of the request and, if it is the callback of
 * a sign-in (`…/callback/PROVIDER`), the provider. `throwOutages` adds the session at the provider, and the adapter stores
 * both with the new session even without the option `context`.
 *
 * @param request - A request of Node (`http`, Express) or of the Fetch API.
 * @param options - The number of trusted proxies, and context values that take precedence over those of the request.
 * @returns The result of the function.
 * @throws TypeError if `trustedProxies` is not a non-negative integer.
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
  const provider = /\/callback\/([\w.-]{1,255})(?:\?|$)/.exec(request.url ?? "")?.[1]
  return storage.run({ ip, userAgent: header("user-agent"), provider, ...known }, fn)
}

/** Returns the context of the current request; undefined outside of one. For the adapter's option `context`. */
export function requestContext(): SessionContext | undefined {
  return storage.getStore()
}

function isWeb(headers: object): headers is Headers {
  return "get" in headers && typeof headers.get === "function"
}

/** Returns the entry that the outermost proxy appended, or undefined if there are fewer entries than proxies. */
function forwarded(header: string | null, proxies: number): string | undefined {
  if (proxies === 0) return undefined
  return header?.split(",").at(-proxies)?.trim() || undefined
}

function addressOf(request: Request | IncomingMessage): string | undefined {
  return "socket" in request ? request.socket.remoteAddress : undefined
}
