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
import { type ConnectionOptions, defaultTimeoutMs, headersOf } from "./options.js"
import { retryTransport } from "./transport/retry.js"

/**
 * The service behind one connection: the adapter, and typed clients of the services that applications call.
 *
 * The adapter's methods throw AuthwireError and answer null for what is not there; the typed clients are those of
 * @connectrpc/connect: they take and return the messages of the schema and throw ConnectError, whose `findDetails`
 * finds ErrorInfo and BadRequest. Deadline, headers and repeated tries are the same for both.
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
  /** Says who a request is from, whichever way the application keeps its sessions. */
  introspection: Client<typeof IntrospectionService>
  /**
   * Closes the client: calls in progress may still end, later calls fail. Its connection closes with the last client that
   * shares it.
   */
  close(): void
}

/**
 * The client over a transport.
 *
 * @param transport - Carries the calls.
 * @param address - Where the service is, for error messages.
 * @param header - What the transport gets with every call that has no header of its own: this same object.
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

/** The adapter of that client alone: whoever bundles it bundles nothing else of the client. */
export function adapterOver(
  transport: Transport,
  address: string,
  options: ConnectionOptions & AdapterOptions,
): AuthwireAdapterMethods {
  return createAdapter(clientsOver(callsOver(transport, options)), address, options)
}

/** The same for `jwt`. */
export function remoteJwtOver(transport: Transport, address: string, options: ConnectionOptions): RemoteJwtMethods {
  return createRemoteJwt(createClient(TokenService, callsOver(transport, options)), address)
}

/** A transport that makes the calls as the options want them. */
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
 * A transport that sends headers with every call (those of the call win), and takes no request with a lone surrogate in it.
 * UTF-8 has none, and encoding puts U+FFFD in its place without a word: what is read later would not be what was written.
 * Throws INVALID_ARGUMENT and the path.
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
