import type { Transport } from "@connectrpc/connect"
import type { AuthwireAdapterMethods } from "./adapter/adapter.js"
import type { RemoteJwtMethods } from "./adapter/jwt.js"
import type { AdapterOptions } from "./adapter/options.js"
import { type AuthwireClient, adapterOver, clientOver, remoteJwtOver } from "./client.js"
import { wrongOption } from "./error.js"
import { type ConnectionOptions, checkOptions, missingOf } from "./options.js"
import { type FetchOptions, fetchAddress, fetchTransport } from "./transport/fetch.js"
import { transportWithout } from "./transport/missing-option.js"
import { callTracer } from "./transport/trace.js"
import { tracedTransport } from "./transport/traced.js"

export type { AuthwireAdapterMethods, ServiceClients } from "./adapter/adapter.js"
export type { SessionContext } from "./adapter/context.js"
export type { RemoteJwtMethods } from "./adapter/jwt.js"
export type { AdapterOptions } from "./adapter/options.js"
export type { SessionAgeOptions } from "./adapter/session-access.js"
export type { AuthwireClient } from "./client.js"
export { AuthwireError, type FieldViolation, type StatusName } from "./error.js"
export type { AccountLists, List, UserLists } from "./lists.js"
export type { ConnectionOptions } from "./options.js"
export type { SessionCacheOptions } from "./session-cache/options.js"
export { type SessionOptions, throwOutages } from "./sessions/throw-outages.js"
export { SessionUnavailable } from "./sessions/unavailable.js"
export type { FetchOptions } from "./transport/fetch.js"

/** How to reach the service over fetch, and what the adapter does in another way. */
export interface AuthwireOptions extends ConnectionOptions, FetchOptions, AdapterOptions {}

/**
 * The adapter of Auth.js, as that of `@authwire/client`, for runtimes that have `fetch` and no sockets. It speaks to the
 * service's HTTP listener, and no cache answers in its place. In Next.js, leave `fetchCache = "force-cache"` out of segments
 * that use it: their answers are still asked of the service, but each is written into the cache of Next.js too.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong. That `url` is missing, or `apiKey` empty, is told by
 * the calls: an application is also built where its environment is not.
 * @example
 * ```ts
 * const adapter = AuthwireAdapter({ url: "https://authwire.example.com" })
 * ```
 */
export function AuthwireAdapter(options: AuthwireOptions): AuthwireAdapterMethods {
  return adapterOver(...connect(options), options)
}

/**
 * `encode` and `decode` for Auth.js's `jwt` option, with the secrets of the service: the application can have JWT
 * sessions without holding the secret that encrypts them.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong. That `url` is missing, or `apiKey` empty, is told by
 * the calls: an application is also built where its environment is not.
 * @example
 * ```ts
 * Auth(request, { session: { strategy: "jwt" }, jwt: RemoteJwt({ url }), adapter: AuthwireAdapter({ url }), providers })
 * ```
 */
export function RemoteJwt(options: AuthwireOptions): RemoteJwtMethods {
  return remoteJwtOver(...connect(options), options)
}

/**
 * The adapter and typed clients, as that of `@authwire/client`, over fetch.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong. That `url` is missing, or `apiKey` empty, is told by
 * the calls: an application is also built where its environment is not.
 */
export function createAuthwireClient(options: AuthwireOptions): AuthwireClient {
  // `fetch` has no connection to close.
  return { ...clientOver(...connect(options), options), close() {} }
}

/** What carries the calls, and the address for error messages. */
function connect(options: AuthwireOptions): [transport: Transport, address: string] {
  checkOptions(options)
  if (options.sessionCache) throw wrongOption("sessionCache", "needs the gRPC transport of @authwire/client in Node")
  const missing = missingOf(options)
  if (missing !== undefined) return [transportWithout(missing), ""]
  const address = fetchAddress(options)
  const transport = options.transport ?? fetchTransport(options)
  return [tracedTransport(transport, callTracer("connectrpc", address)), address]
}
