import {
  AccountService,
  AuthenticatorService,
  IntrospectionService,
  SessionService,
  TokenService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto/slim"
import { type Client, createClient, type Transport } from "@connectrpc/connect"
import { type AuthwireAdapterMethods, createAdapter, type ServiceClients } from "./adapter/adapter.js"
import { checkText } from "./adapter/field.js"
import { createRemoteJwt, type RemoteJwtMethods } from "./adapter/jwt.js"
import type { AdapterOptions, JwtOptions } from "./adapter/options.js"
import { type AdministrationClients, administrationOver } from "./administration.js"
import { withCallErrors } from "./call-errors.js"
import { type EventsClient, eventsOver } from "./events.js"
import {
  type AccountLists,
  type ApiKeyLists,
  type AuditLists,
  type AuthenticatorLists,
  type SessionLists,
  type TenantLists,
  type UserLists,
  type WebhookLists,
  withLists,
} from "./lists.js"
import { type Layer, layered } from "./transport/layer.js"
import { type ConnectionOptions, defaultTimeoutMs } from "./transport/options.js"
import { deadline, retry } from "./transport/retry.js"

/**
 * A client of the service with one connection: the adapter, and typed clients of all services.
 *
 * The typed clients take and return the messages of the schema. Every call of the adapter and of a typed client throws
 * AuthwireError if it fails. If a record does not exist, the adapter returns null, and a typed client throws NOT_FOUND.
 * Deadlines, headers and retries are the same for both.
 */
export interface AuthwireClient extends ServiceClients, AdministrationClients {
  users: ServiceClients["users"] & UserLists
  accounts: ServiceClients["accounts"] & AccountLists
  sessions: ServiceClients["sessions"] & SessionLists
  authenticators: ServiceClients["authenticators"] & AuthenticatorLists
  audit: AdministrationClients["audit"] & AuditLists
  apiKeys: AdministrationClients["apiKeys"] & ApiKeyLists
  tenants: AdministrationClients["tenants"] & TenantLists
  webhooks: AdministrationClients["webhooks"] & WebhookLists
  /** The events of the tenant. */
  events: EventsClient
  /** The adapter of Auth.js. */
  adapter: AuthwireAdapterMethods
  /** For Auth.js's `jwt` option. */
  jwt: RemoteJwtMethods
  /** The token service: issues and reads the tokens of Auth.js. */
  tokens: Client<typeof TokenService>
  /** Finds the session and user of a request, for database sessions and JWT sessions. */
  introspection: Client<typeof IntrospectionService>
  /**
   * Closes the client. Calls in progress may still end; later calls fail. The connection closes with the last client that
   * shares it. A client over `fetch`, or with the option `transport`, has no connection: closing it has no effect.
   */
  close(): void
}

/** How the calls of a client reach the service. */
export interface Connection {
  /** Carries the calls, with the headers of the connection: a pipeline, `fetch` or the transport of the application. */
  transport: Transport
  /** The address of the service, for error messages. */
  address: string
  /** The steps that not every connection has. */
  sessionCache?: Layer | undefined
  traced?: Layer | undefined
}

/** Creates a client over a connection. */
export function clientOver(connection: Connection, options: ConnectionOptions & AdapterOptions & JwtOptions) {
  const calls = callsOver(connection, options)
  const clients = clientsOver(calls)
  const tokens = createClient(TokenService, calls)
  const introspection = createClient(IntrospectionService, calls)
  const typed = { ...clients, ...administrationOver(calls), tokens, introspection }
  return {
    adapter: createAdapter(clients, connection.address, options),
    jwt: createRemoteJwt(tokens, connection.address, options),
    events: eventsOver(calls, connection.address),
    ...withLists(withCallErrors(typed, connection.address)),
  }
}

/** Creates only the adapter. A bundle of it contains nothing else of the client. */
export function adapterOver(
  connection: Connection,
  options: ConnectionOptions & AdapterOptions,
): AuthwireAdapterMethods {
  return createAdapter(clientsOver(callsOver(connection, options)), connection.address, options)
}

/** Creates only the RemoteJwt. */
export function remoteJwtOver(connection: Connection, options: ConnectionOptions & JwtOptions): RemoteJwtMethods {
  return createRemoteJwt(createClient(TokenService, callsOver(connection, options)), connection.address, options)
}

/** Returns the transport of a client's calls. Every call passes these steps from top to bottom, and its answer from bottom to top. */
function callsOver(connection: Connection, { timeoutMs = defaultTimeoutMs }: ConnectionOptions): Transport {
  const { sessionCache, traced, transport } = connection
  return layered(
    [
      // The timeout of the whole call, including its retry.
      deadline(timeoutMs),
      // Makes the call again if the service is unavailable or overloaded, with the same idempotency key.
      retry,
      // Rejects text that protobuf cannot encode.
      wellFormed,
      // With the option `sessionCache`: caches the sessions that are read, and evicts those that are changed.
      sessionCache,
      // The span of the call, if the application has an OpenTelemetry SDK.
      traced,
    ],
    // With the API key and the other headers of the connection, which a pipeline sends once for each stream.
    // pipeline/transport.ts: a call in a pipeline, or alone over gRPC (transport/grpc.ts). In edge runtimes, transport/fetch.ts.
    transport,
  )
}

function clientsOver(calls: Transport): ServiceClients {
  return {
    users: createClient(UserService, calls),
    accounts: createClient(AccountService, calls),
    sessions: createClient(SessionService, calls),
    verificationTokens: createClient(VerificationTokenService, calls),
    authenticators: createClient(AuthenticatorService, calls),
  }
}

/**
 * Rejects requests with a lone surrogate. UTF-8 cannot encode one, and the encoder would silently replace it by U+FFFD, so
 * that a later read would not return what was written. Throws INVALID_ARGUMENT with the path of the text.
 */
const wellFormed: Layer =
  (next) =>
  (method, signal, timeoutMs, header, input, ...rest) => {
    checkText("", input)
    return next(method, signal, timeoutMs, header, input, ...rest)
  }
