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
import type { AdapterOptions } from "./adapter/options.js"
import { type AccountLists, type UserLists, withLists } from "./lists.js"
import { type ConnectionOptions, defaultTimeoutMs, headersOf } from "./transport/options.js"
import { retryTransport } from "./transport/retry.js"

/**
 * A client of the service with one connection: the adapter, and typed clients of the services that applications call.
 *
 * The adapter's methods throw AuthwireError and return null for what does not exist. The typed clients are those of
 * @connectrpc/connect: they take and return the messages of the schema and throw ConnectError, whose `findDetails`
 * finds ErrorInfo and BadRequest. Deadlines, headers and retries are the same for both.
 */
export interface AuthwireClient extends ServiceClients {
  users: ServiceClients["users"] & UserLists
  accounts: ServiceClients["accounts"] & AccountLists
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

/**
 * Creates a client over a transport.
 *
 * @param transport - Carries the calls.
 * @param address - The address of the service, for error messages.
 * @param header - The headers of every call. A call without headers of its own passes this same object to the transport.
 */
export function clientOver(
  transport: Transport,
  address: string,
  options: ConnectionOptions & AdapterOptions,
  header: Headers = headersOf(options),
) {
  const calls = callsOver(transport, options, header)
  const clients = clientsOver(calls)
  const tokens = createClient(TokenService, calls)
  return {
    adapter: createAdapter(clients, address, options),
    jwt: createRemoteJwt(tokens, address),
    tokens,
    introspection: createClient(IntrospectionService, calls),
    ...withLists(clients),
  }
}

/** Creates only the adapter. A bundle of it contains nothing else of the client. */
export function adapterOver(
  transport: Transport,
  address: string,
  options: ConnectionOptions & AdapterOptions,
): AuthwireAdapterMethods {
  return createAdapter(clientsOver(callsOver(transport, options)), address, options)
}

/** Creates only the RemoteJwt. */
export function remoteJwtOver(transport: Transport, address: string, options: ConnectionOptions): RemoteJwtMethods {
  return createRemoteJwt(createClient(TokenService, callsOver(transport, options)), address)
}

/** Creates a transport with the headers, deadlines and retries of the options. */
function callsOver(transport: Transport, options: ConnectionOptions, header: Headers = headersOf(options)): Transport {
  const { timeoutMs = defaultTimeoutMs } = options
  return retryTransport(requestTransport(transport, header), { timeoutMs })
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
 * Creates a transport that adds headers to every call, unless the call has its own, and that rejects requests with a lone
 * surrogate. UTF-8 cannot encode one, and the encoder would silently replace it by U+FFFD, so that a later read would not return
 * what was written. Throws INVALID_ARGUMENT with the path of the text.
 */
function requestTransport(inner: Transport, headers: Headers): Transport {
  const merge = (header: HeadersInit | undefined) => {
    if (header === undefined) return headers
    const merged = new Headers(headers)
    for (const [name, value] of new Headers(header)) merged.set(name, value)
    return merged
  }
  return {
    unary(method, signal, timeoutMs, header, input, contextValues) {
      checkText("", input)
      return inner.unary(method, signal, timeoutMs, merge(header), input, contextValues)
    },
    stream: (method, signal, timeoutMs, header, input, contextValues) =>
      inner.stream(method, signal, timeoutMs, merge(header), input, contextValues),
  }
}
