import type { AuthwireAdapterMethods } from "./adapter/adapter.js"
import type { RemoteJwtMethods } from "./adapter/jwt.js"
import type { AdapterOptions, JwtOptions } from "./adapter/options.js"
import { type AuthwireClient, adapterOver, type Connection, clientOver, remoteJwtOver } from "./client.js"
import { wrongOption } from "./errors/error.js"
import { sharedTransport } from "./pipeline/shared.js"
import type { PipelineOptions } from "./pipeline/transport.js"
import { cachedAdapter, caching } from "./session-cache/caching.js"
import { sharedCache } from "./session-cache/shared.js"
import { type GrpcTargetOptions, grpcServer } from "./transport/grpc-target.js"
import { withHeaders } from "./transport/layer.js"
import { type ConnectionOptions, checkOptions, headersOf, missingOptionTransport } from "./transport/options.js"
import { traced } from "./transport/trace.js"

export * from "./exports.js"
export type { PipelineOptions } from "./pipeline/transport.js"
export { type GrpcTransport, grpcTransport } from "./transport/grpc.js"
export type { GrpcTargetOptions, TlsOptions } from "./transport/grpc-target.js"

/** Options of the connection to the service over gRPC, of the adapter and of RemoteJwt. */
export interface AuthwireOptions
  extends ConnectionOptions,
    GrpcTargetOptions,
    PipelineOptions,
    AdapterOptions,
    JwtOptions {}

/**
 * Creates the Auth.js adapter that stores its users, accounts, sessions, verification tokens and authenticators in
 * Authwire. It connects at the first call, and keeps the process alive for at most one second after the last call.
 *
 * Adapters and clients in one process share a connection if their `url`, `tls`, `apiKey`, `headers` and `connections`
 * are equal, even if different modules or bundles created them. An adapter may therefore be created for every request.
 * A connection without calls closes after 30 to 60 seconds, and the next call opens a new one.
 *
 * Every method throws AuthwireError if its call fails. A method returns null only if the service has reported that the
 * record does not exist.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid. A missing `url` or an empty `apiKey` is reported
 * by each call instead, because applications are also built without their environment variables.
 * @example
 * ```ts
 * export const { handlers, auth } = NextAuth({ adapter: AuthwireAdapter({ url: "http://127.0.0.1:50051" }), providers })
 * ```
 */
export function AuthwireAdapter(options: AuthwireOptions): AuthwireAdapterMethods {
  const connection = connect(options)
  return connection.cached(adapterOver(connection, options))
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
 * Creates the adapter and typed clients of the service on one connection. The connection is opened at the first call
 * and shared as described at AuthwireAdapter.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid. A missing `url` or an empty `apiKey` is reported
 * by each call instead, because applications are also built without their environment variables.
 * @example
 * ```ts
 * const authwire = createAuthwireClient({ url: "http://127.0.0.1:50051" })
 * const { session, user } = await authwire.sessions.getSessionAndUser({ sessionToken })
 * authwire.close()
 * ```
 */
export function createAuthwireClient(options: AuthwireOptions): AuthwireClient {
  const connection = connect(options)
  const client = clientOver(connection, options)
  return { ...client, adapter: connection.cached(client.adapter), close: connection.close }
}

interface NodeConnection extends Connection {
  /** Adds the session cache to an adapter, if the options ask for it. */
  cached(adapter: AuthwireAdapterMethods): AuthwireAdapterMethods
  close(): void
}

/** Checks the options, and connects their transport or a pipeline. */
function connect(options: AuthwireOptions): NodeConnection {
  checkOptions(options)
  const without = { cached: (adapter: AuthwireAdapterMethods) => adapter, close() {} }
  const missing = missingOptionTransport(options)
  if (missing !== undefined) return { ...without, transport: missing, address: "" }
  const { url, tls, connections, sessions, sessionCache, transport } = options
  const server = grpcServer(options)
  const common = { ...without, address: server.address, traced: traced("grpc", server) }
  const header = headersOf(options)
  if (transport) {
    for (const [name, value] of Object.entries({ tls, connections, sessionCache }))
      if (value !== undefined) throw wrongOption(name, "must not be combined with the option transport")
    return { ...common, transport: withHeaders(header, transport) }
  }
  const pipelines = sharedTransport({ url, tls, connections, header })
  if (sessionCache === undefined) return { ...common, transport: pipelines, close: pipelines.close }
  const cache = sharedCache({ url, tls, header, options: sessionCache })
  return {
    ...common,
    transport: pipelines,
    sessionCache: caching(cache),
    cached: (adapter) => cachedAdapter(adapter, cache, sessions),
    close() {
      cache.leave()
      pipelines.close()
    },
  }
}
