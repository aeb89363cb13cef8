import type { RequestSession } from "../introspection/request-session.js"
import { identityHeader, ownHeaders, type Policy, sessionIdHeader, userIdHeader } from "./policy.js"

/** A request as a proxy describes it. */
export interface GatewayRequest extends RequestTarget {
  /** The value of a header, by its lower-case name. */
  header(name: string): string | undefined
  /** The lower-case names of its headers, as far as the proxy sends them. */
  readonly headerNames: Iterable<string>
}

/** The decision on a request. */
export type Decision = Allowed | Denied

/** The proxy forwards the request. */
interface Allowed {
  readonly kind: "allowed"
  /** The session with whose user the request is forwarded, if any. */
  readonly session?: RequestSession | undefined
  /** The headers for the application. Each replaces the header of the same name that the client has sent. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The names of the headers to remove. None of `headers` is among them. */
  readonly removed: readonly string[]
}

/** The proxy answers the request itself. */
type Denied =
  | { readonly kind: "denied"; readonly status: 401 | 403; readonly reason: string }
  | { readonly kind: "denied"; readonly status: 302; readonly reason: string; readonly location: string }

/** Decides whether a request is forwarded. */
export function decide(policy: Policy, request: GatewayRequest, session: RequestSession | null): Decision {
  // A preflight has no credentials. It is forwarded without a user, whatever else it contains.
  if (policy.forwardsPreflights && isPreflight(request)) return allowed(policy, request, [])
  const userId = headerText(session?.userId)
  // An application may put any value into a JWT as the user's id. A value that no header can carry is no user.
  if (session === null || userId === undefined) {
    return policy.isOptional ? allowed(policy, request, []) : notSignedIn(policy, request)
  }
  if (policy.roles.length > 0 && !hasRole(policy, session)) {
    return { kind: "denied", status: 403, reason: "the user has none of the required roles" }
  }
  const headers: [string, string][] = [[userIdHeader, userId]]
  const addHeader = (name: string, value: string | undefined) => value !== undefined && headers.push([name, value])
  addHeader(sessionIdHeader, headerText(session.sessionId))
  for (const { name, property } of policy.headers) addHeader(name, headerText(propertyOf(session, property)))
  return { ...allowed(policy, request, headers), session }
}

/** Adds a signed assertion of the user's identity to a decision. */
export function withAssertion(decision: Allowed, assertion: string): Allowed {
  return {
    ...decision,
    headers: [...decision.headers, [identityHeader, assertion]],
    removed: decision.removed.filter((name) => name !== identityHeader),
  }
}

function headerText(value: unknown): string | undefined {
  const text = headerValue(value)
  return text === undefined || text === "" || text.length > maxHeaderBytes ? undefined : text
}

function notSignedIn({ signIn }: Policy, request: GatewayRequest): Denied {
  const reason = "no user is signed in"
  if (signIn !== undefined && isPageNavigation(request.method, (name) => request.header(name))) {
    return { kind: "denied", status: 302, reason, location: signInLocation(signIn, request) }
  }
  return { kind: "denied", status: 401, reason }
}

/** Returns whether a browser asks if a page of another origin may send a request (Fetch standard, CORS-preflight fetch). */
function isPreflight({ method, header }: GatewayRequest): boolean {
  return method === "OPTIONS" && header("origin") !== undefined && header("access-control-request-method") !== undefined
}

function allowed(policy: Policy, request: GatewayRequest, headers: Allowed["headers"]): Allowed {
  // A proxy may not send all headers of a request, so those that the application relies on are always removed or set.
  const removed = new Set([...ownHeaders, ...policy.headers.map(({ name }) => name)])
  for (const name of request.headerNames) if (isReserved(name)) removed.add(name)
  for (const [name] of headers) removed.delete(name)
  return { kind: "allowed", headers, removed: [...removed] }
}

// CGI, WSGI, PHP and Rack have the same name for `x_auth_user_id` and `x-auth-user-id`, so an application reads either.
function isReserved(name: string): boolean {
  return /^x[-_]auth(wire)?[-_]/i.test(name)
}

function hasRole({ roles, roleProperties }: Policy, session: RequestSession): boolean {
  return roleProperties.some((property) => {
    const held = extraOf(session, property)
    return Array.isArray(held) ? held.some((one) => roles.includes(one)) : roles.includes(held as string)
  })
}

/**
 * Returns a property that the application has added: from the `extra` of the stored user, or if the user of a JWT was
 * not read, from its claims. The claims may have roles that the user has lost since.
 */
function extraOf({ user, claims }: RequestSession, property: string): unknown {
  const held: object | undefined = user === undefined ? claims : user.extra
  return held !== undefined && Object.hasOwn(held, property) ? (held as Record<string, unknown>)[property] : undefined
}

function propertyOf(session: RequestSession, property: string): unknown {
  const { user, claims } = session
  if (property === "name") return user === undefined ? claims?.name : user.name
  if (property === "email") return user === undefined ? claims?.email : user.email
  // The name that Auth.js uses in a token.
  if (property === "image") return user === undefined ? claims?.picture : user.image
  return extraOf(session, property)
}

/**
 * Encodes a value for a header. It percent-encodes the UTF-8 of everything but visible ASCII, and `%` and `,` too. So a
 * text can neither end the header nor lose its first or last characters, two texts never have the same encoding, and
 * `decodeURIComponent` restores the text. The items of a list are separated by commas.
 *
 * @returns undefined for a value that is neither a text, a number, a boolean nor a list of these
 */
function headerValue(value: unknown): string | undefined {
  if (!Array.isArray(value)) return itemOf(value)
  const items = value.map(itemOf)
  return items.includes(undefined) ? undefined : items.join(",")
}

/** The longest encoded value, in bytes. A longer one is left out, because servers reject longer headers. */
const maxHeaderBytes = 4_096

function itemOf(value: unknown): string | undefined {
  if (typeof value === "string") return encode(value)
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined
}

const plain = /^[\x21-\x24\x26-\x2b\x2d-\x7e]*$/

function encode(text: string): string {
  if (plain.test(text)) return text
  return text.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x2b\x2d-\x7e]+/g, (part) => encodeURIComponent(part))
}

/** The parts of a request that determine where a browser is redirected. */
interface RequestTarget {
  readonly method: string
  /** `http` or `https`. */
  readonly scheme: string
  /** Its host, perhaps with a port. */
  readonly host: string
  /** Its path with its query, as the client sent it. */
  readonly path: string
}

/** The longest path to which a browser returns after the sign-in, in characters. */
const maxPathLength = 2_048

/** Returns whether a browser requests a page to show. Other clients cannot use the sign-in page. */
function isPageNavigation(method: string, header: (name: string) => string | undefined): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  const mode = header("sec-fetch-mode")
  if (mode !== undefined && mode !== "navigate") return false
  return /(^|[\s,])text\/html\s*($|[;,])/i.test(header("accept") ?? "")
}

/**
 * Returns the address of the sign-in page, with the address to return to as `callbackUrl`. Nothing of the request is
 * elsewhere in it. `callbackUrl` is omitted if scheme, host and path form no URL, or one that is too long.
 *
 * @param signIn See `Policy`.
 */
function signInLocation(signIn: string, target: RequestTarget): string {
  const { scheme, host, path } = target
  const isUrl =
    /^https?$/.test(scheme) &&
    /^(?:[a-z0-9](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.test(host) &&
    /^\/[\x21-\x7e]*$/.test(path) &&
    path.length <= maxPathLength
  if (!isUrl) return signIn
  return `${signIn}${signIn.includes("?") ? "&" : "?"}callbackUrl=${encodeURIComponent(`${scheme}://${host}${path}`)}`
}
