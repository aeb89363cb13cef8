import type { AuthwireAdapterMethods } from "./adapter/adapter.js"
import type { RemoteJwtMethods } from "./adapter/jwt.js"
import type { AdapterOptions, JwtOptions } from "./adapter/options.js"
import { type AuthwireClient, adapterOver, type Connection, clientOver, remoteJwtOver } from "./client.js"
import { wrongOption } from "./errors/error.js"
import { type FetchOptions, fetchServer, fetchTransport } from "./transport/fetch.js"
import { fetchStream } from "./transport/fetch-stream.js"
import { withHeaders } from "./transport/layer.js"
import { type ConnectionOptions, checkOptions, headersOf, missingOptionTransport } from "./transport/options.js"
import { traced } from "./transport/trace.js"

export * from "./exports.js"
export type { FetchOptions } from "./transport/fetch.js"

/** Options of the connection to the service over fetch, of the adapter and of RemoteJwt. */
export interface AuthwireOptions extends ConnectionOptions, FetchOptions, AdapterOptions, JwtOptions {}

/**
 * Creates the same Auth.js adapter as `@authwire/client`, for runtimes that have `fetch` but no sockets. It calls the
 * service's HTTP listener and forbids every cache to store a response. In Next.js, do not set `fetchCache =
 * "force-cache"` in segments that use the adapter: the service still answers every call, but each response is also
 * written into the cache of Next.js.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid. A missing `url` or an empty `apiKey` is reported
 * by each call instead, because applications are also built without their environment variables.
 * @example
 * ```ts
 * const adapter = AuthwireAdapter({ url: "https://authwire.example.com" })
 * ```
 */
export function AuthwireAdapter(options: AuthwireOptions): AuthwireAdapterMethods {
  return adapterOver(connect(options), options)
}

/**
 * Creates `encode` and `decode` for the `jwt` option of Auth.js, or with `nextAuth4` of next-auth 4. The service encrypts and decrypts the tokens with its
 * secrets, so an application can have JWT sessions without holding the encryption secret.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid. A missing `url` or an empty `apiKey` is reported
 * by each call instead, because applications are also built without their environment variables.
 * @example
 * ```ts
 * Auth(request, { session: { strategy: "jwt" }, jwt: RemoteJwt({ url }), adapter: AuthwireAdapter({ url }), providers })
 * ```
 */
export function RemoteJwt(options: AuthwireOptions): RemoteJwtMethods {
  return remoteJwtOver(connect(options), options)
}

/**
 * Creates the adapter and typed clients of the service over fetch, as `@authwire/client` does over gRPC.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid. A missing `url` or an empty `apiKey` is reported
 * by each call instead, because applications are also built without their environment variables.
 */
export function createAuthwireClient(options: AuthwireOptions): AuthwireClient {
  // `fetch` has no connection to close.
  return { ...clientOver(connect(options, fetchStream), options), close() {} }
}

/**
 * Checks the options, and connects their transport or `fetch`.
 *
 * @param streams - Creates the streams over `fetch`, which only the events need.
 */
function connect(options: AuthwireOptions, streams?: typeof fetchStream): Connection {
  checkOptions(options)
  // Where an import of `@authwire/client` is this client, the compiler accepts the options of the gRPC client.
  const { sessionCache, tls }: AuthwireOptions & { tls?: unknown } = options
  for (const [name, value] of Object.entries({ sessionCache, tls }))
    if (value !== undefined) throw wrongOption(name, "needs the gRPC transport of @authwire/client in Node")
  const missing = missingOptionTransport(options)
  if (missing !== undefined) return { transport: missing, address: "" }
  const server = fetchServer(options)
  const overFetch = () => ({ ...fetchTransport(options), ...(streams && { stream: streams(options) }) })
  const transport = options.transport ?? overFetch()
  return {
    transport: withHeaders(headersOf(options), transport),
    address: server.address,
    traced: traced("connectrpc", server),
  }
}
