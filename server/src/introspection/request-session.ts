import { findSessionCredential, type SessionCredential, sessionCookieName, type TokenModule } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import { Failure } from "../rpc/errors.js"
import { readableClaims } from "../services/claims.js"
import type { Caller, SessionStore, UserStore } from "../store/store.js"
import type { User } from "../store/types.js"

/** The headers of an HTTP request, by lower-case name. Several cookie headers are joined by `; `, others by `, `. */
export interface RequestHeaders {
  get(name: string): string | undefined
}

/** Where sessions are kept: in the database, or in the token itself. Auth.js's option `session.strategy`. */
export type SessionStrategy = "database" | "jwt"

/** Who a request is from. */
export interface RequestSession {
  kind: SessionStrategy
  /** Of a JWT: its claim `sub`. */
  userId: string
  /** What the session is called by who does not have its token. Of a JWT: its claim `jti`, if it has one. */
  sessionId: string | undefined
  expires: Date
  /** The stored user. Of a JWT only if `withUser` asks for it. */
  user: User | undefined
  /** Of a JWT. */
  claims: JsonObject | undefined
}

export interface RequestSessionOptions {
  /** Name of the session cookie. Default: those that Auth.js gives it, see cookieNames. */
  cookieName?: string | undefined
  /** Whether the cookie's default name has a secure prefix. Default: it must where the service knows it, else it may. */
  secureCookie?: boolean | undefined
  /** What the key of a JWT is derived from beside the secret. Default: the name of the cookie. */
  salt?: string | undefined
  /** Only sessions of this strategy count. Default: both. */
  strategy?: SessionStrategy | undefined
  /** Read the user of a JWT as well: a JWT of a user who is not stored is then no session. Default: false. */
  withUser?: boolean | undefined
}

export interface RequestSessionDeps {
  sessions: Pick<SessionStore, "getWithUser">
  users: Pick<UserStore, "get">
  /** The token module whose memory is used. */
  tokens: Pick<TokenModule, "decode" | "getToken">
  /** What decrypts for a tenant, the newest first. */
  secretsOf: (tenant: string) => readonly string[]
  /** Whether the session cookies of the applications are known to have a secure prefix. */
  secureCookie: boolean
}

/** What the schema lets a session token and the id of a user be at the most, in bytes. */
const maxTokenBytes = 16_384
const maxUserIdBytes = 255

/** The last moment that a google.protobuf.Timestamp can say. */
const lastTime = Date.parse("9999-12-31T23:59:59.999Z")

/**
 * Finds the session of a request and whose it is. Null: the request has no session that is active, for whatever reason. It
 * reads as SessionStore.getWithUser does: an expired session is removed, and nothing is extended.
 *
 * The session cookie counts, and only where there is none `Authorization: Bearer`, as in Auth.js. What has the five parts of
 * a JWE is a JWT and is never looked up in the database; anything else is never decrypted. Under one cookie name one of the
 * two counts: a JWT whose chunks were left over does not let anybody in beside a database session that was revoked.
 *
 * A JWT must say whose it is and until when: without `sub` or `exp` it is no session.
 *
 * Throws what the store throws, and MISSING_SECRET if the request has a JWT and the tenant no secrets.
 */
export async function findRequestSession(
  deps: RequestSessionDeps,
  caller: Caller,
  headers: RequestHeaders,
  options: RequestSessionOptions = {},
): Promise<RequestSession | null> {
  const names = cookieNames(options, deps.secureCookie)
  const given = { cookie: headers.get("cookie") ?? "", authorization: headers.get("authorization") ?? "" }
  const credential = findSessionCredential(given, names)
  if (credential === undefined) return null
  const kind = strategyOf(credential)
  if (options.strategy !== undefined && options.strategy !== kind) return null
  if (kind === "database") return databaseSession(deps, caller, credential.tokens[0] ?? "")

  const claims = await claimsOf(deps, caller, { credential, headers: given, names, salt: options.salt })
  const session = claims && jwtSession(claims)
  if (!session || !options.withUser) return session
  if (!canBeUserId(session.userId)) return null
  const user = await deps.users.get(caller, session.userId)
  return user && { ...session, user }
}

/**
 * The names that the session cookie may have, the one that is hardest to plant first: with `__Host-` it comes from this very
 * host over HTTPS, with `__Secure-` over HTTPS, else from anywhere in the domain. The first that a request has counts.
 */
function cookieNames({ cookieName, secureCookie }: RequestSessionOptions, isKnownSecure: boolean): string[] {
  if (cookieName !== undefined) return [cookieName]
  const plain = sessionCookieName(false)
  const secure = [`__Host-${plain}`, sessionCookieName(true)]
  if (secureCookie ?? isKnownSecure) return secure
  return secureCookie === false ? [plain] : [...secure, plain]
}

function strategyOf(credential: SessionCredential): SessionStrategy {
  const { tokens } = credential
  const isWhole = credential.from === "bearer" || credential.isWhole
  return (isWhole ? tokens.slice(0, 1) : tokens).some(isJwe) ? "jwt" : "database"
}

/** RFC 7516, section 7.1: a compact JWE has five parts. */
function isJwe(token: string): boolean {
  return token.split(".", 6).length === 5
}

async function databaseSession(
  { sessions }: RequestSessionDeps,
  caller: Caller,
  token: string,
): Promise<RequestSession | null> {
  if (Buffer.byteLength(token) > maxTokenBytes) return null
  const found = await sessions.getWithUser(caller, token)
  if (found === null) return null
  const { session, user } = found
  return {
    kind: "database",
    userId: session.userId,
    sessionId: session.id,
    expires: session.expires,
    user,
    claims: undefined,
  }
}

/** Claims of the JWT, if there is one that can be read. A Bearer token says nothing of the cookie whose name is its salt. */
async function claimsOf(
  { tokens, secretsOf }: RequestSessionDeps,
  { tenant }: Caller,
  request: {
    credential: SessionCredential
    headers: { cookie: string; authorization: string }
    names: readonly string[]
    salt: string | undefined
  },
): Promise<JsonObject | null> {
  const secret = [...secretsOf(tenant)]
  // getToken would take those of the environment, which may be another tenant's.
  if (secret.length === 0) throw new Failure("MISSING_SECRET")
  const { credential, headers, names, salt } = request
  const decode = readableClaims(tokens)
  if (credential.from === "cookie") {
    const { cookieName } = credential
    const req = { headers: { cookie: headers.cookie } }
    return (await tokens.getToken({ req, secret, decode, cookieName, salt: salt ?? cookieName })) as JsonObject | null
  }
  const req = { headers: { authorization: headers.authorization } }
  for (const each of salt === undefined ? names : [salt]) {
    const claims = await tokens.getToken({ req, secret, decode, cookieName: each, salt: each })
    if (claims !== null) return claims as JsonObject
  }
  return null
}

function jwtSession(claims: JsonObject): RequestSession | null {
  const { sub, exp, jti } = claims
  if (typeof sub !== "string" || sub === "" || typeof exp !== "number") return null
  return {
    kind: "jwt",
    userId: sub,
    sessionId: typeof jti === "string" && jti !== "" ? jti : undefined,
    expires: new Date(Math.min(Math.floor(exp * 1000), lastTime)),
    user: undefined,
    claims,
  }
}

function canBeUserId(id: string): boolean {
  return Buffer.byteLength(id) <= maxUserIdBytes && !id.includes("\0")
}
