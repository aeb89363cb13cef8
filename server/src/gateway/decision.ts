import type { RequestSession } from "../introspection/request-session.js"
import { headerValue, maxHeaderBytes } from "./header-value.js"
import { ownHeaders, type Policy, sessionIdHeader, userIdHeader } from "./policy.js"
import { asksForPage, type RequestTarget, signInLocation } from "./sign-in.js"

/** A request, as a proxy tells of it. */
export interface GatewayRequest extends RequestTarget {
  /** The value of a header, by its lower-case name. */
  header(name: string): string | undefined
  /** The lower-case names of its headers, as far as the proxy tells them. */
  readonly headerNames: Iterable<string>
}

/** What a proxy does with a request. */
export type Decision = Allowed | Denied

/** It is passed on. */
export interface Allowed {
  readonly kind: "allowed"
  /** What the application is told, each in place of what the client has sent by that name. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** What is removed; none of `headers` is among it. */
  readonly removed: readonly string[]
}

/** It is answered. */
export type Denied =
  | { readonly kind: "denied"; readonly status: 401 | 403; readonly reason: string }
  | { readonly kind: "denied"; readonly status: 302; readonly reason: string; readonly location: string }

/** Decides what becomes of a request. */
export function decide(policy: Policy, request: GatewayRequest, session: RequestSession | null): Decision {
  const userId = toldValue(session?.userId)
  // A JWT may name a user by whatever an application has put there: what cannot be told is nobody.
  if (session === null || userId === undefined) {
    return policy.isOptional ? allowed(policy, request, []) : notSignedIn(policy, request)
  }
  if (policy.roles.length > 0 && !hasRole(policy, session)) {
    return { kind: "denied", status: 403, reason: "the user has none of the roles that this asks for" }
  }
  const told: [string, string][] = [[userIdHeader, userId]]
  const tell = (name: string, value: string | undefined) => value !== undefined && told.push([name, value])
  tell(sessionIdHeader, toldValue(session.sessionId))
  for (const { name, property } of policy.headers) tell(name, toldValue(propertyOf(session, property)))
  return allowed(policy, request, told)
}

function toldValue(value: unknown): string | undefined {
  const text = headerValue(value)
  return text === undefined || text === "" || text.length > maxHeaderBytes ? undefined : text
}

function notSignedIn({ signIn }: Policy, request: GatewayRequest): Denied {
  const reason = "nobody is signed in"
  if (signIn !== undefined && asksForPage(request.method, (name) => request.header(name))) {
    return { kind: "denied", status: 302, reason, location: signInLocation(signIn, request) }
  }
  return { kind: "denied", status: 401, reason }
}

function allowed(policy: Policy, request: GatewayRequest, headers: Allowed["headers"]): Allowed {
  // A proxy need not tell all headers of a request, so those that the application relies on are named in any case.
  const removed = new Set([...ownHeaders, ...policy.headers.map(({ name }) => name)])
  for (const name of request.headerNames) if (isReserved(name)) removed.add(name)
  for (const [name] of headers) removed.delete(name)
  return { kind: "allowed", headers, removed: [...removed] }
}

// Some applications read `x_auth_user_id` as they read `x-auth-user-id`: CGI, WSGI, PHP and Rack have the same name for both.
function isReserved(name: string): boolean {
  return /^x[-_]auth[-_]/i.test(name)
}

function hasRole({ roles, roleProperties }: Policy, session: RequestSession): boolean {
  return roleProperties.some((property) => {
    const held = extraOf(session, property)
    return Array.isArray(held) ? held.some((one) => roles.includes(one)) : roles.includes(held as string)
  })
}

/** What the application adds to its users and its tokens: of a database session the user's `extra`, of a JWT its claims. */
function extraOf({ kind, user, claims }: RequestSession, property: string): unknown {
  const held: object | undefined = kind === "jwt" ? claims : user?.extra
  return held !== undefined && Object.hasOwn(held, property) ? (held as Record<string, unknown>)[property] : undefined
}

function propertyOf(session: RequestSession, property: string): unknown {
  const { kind, user, claims } = session
  if (property === "name") return kind === "jwt" ? claims?.name : user?.name
  if (property === "email") return kind === "jwt" ? claims?.email : user?.email
  // As Auth.js names it in a token.
  if (property === "image") return kind === "jwt" ? claims?.picture : user?.image
  return extraOf(session, property)
}
