import {
  findSessionCredential,
  type JWT,
  type JWTDecodeParams,
  type NextAuth4DecodeParams,
  type SessionCredential,
  sessionCookieName,
  TokenMalformed,
  type TokenModule,
} from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import { Failure } from "../errors/failure.js"
import { jsonFault } from "../rpc/json.js"
import type { Caller, SessionStore, SignalStore, TokenOrigin } from "../store/store.js"
import type { User } from "../store/types.js"

/** The headers of an HTTP request, by lower-case name. Several cookie headers are joined by `; `, others by `, `. */
interface RequestHeaders {
  get(name: string): string | undefined
}

/** Where sessions are stored: in the database, or in the token itself. The option `session.strategy` of Auth.js. */
export type SessionStrategy = "database" | "jwt"

/** The session of a request, with its user. */
export interface RequestSession {
  kind: SessionStrategy
  /** The id of the user. Of a JWT: its claim `sub`, or that of `userIdClaim`. */
  userId: string
  /** The handle of the session, which is not its token. Of a JWT: its claim `jti`, if it has one. */
  sessionId: string | undefined
  expires: Date
  /** The stored user. Of a JWT only with `withUser`. */
  user: User | undefined
  /** The claims of a JWT. */
  claims: JsonObject | undefined
}

/** How the session of a request is found. */
export interface RequestSessionOptions {
  /** The name of the session cookie. Default: the names that Auth.js uses, see cookieNames. */
  cookieName?: string | undefined
  /** Whether the cookie's default name has a secure prefix. Default: true if the deps say so, else either. */
  secureCookie?: boolean | undefined
  /** The salt from which, with the secret, the key of a JWT is derived. Default: the name of the cookie. */
  salt?: string | undefined
  /** Accepts only sessions of this strategy. Default: both. */
  strategy?: SessionStrategy | undefined
  /**
   * Reads the user of a JWT. A JWT of a disabled user, or one that a provider has ended, is then no session. true: the session
   * has the user, and a JWT of a user that is not stored is no session. false: reads nothing. Default: only looks whether the
   * user is disabled and the JWT has ended.
   */
  withUser?: boolean | undefined
  /** The claim of a JWT that holds the id of the user. Default: `sub`. */
  userIdClaim?: string | undefined
  /** The application uses next-auth 4: its cookie's names, and its JWTs besides those of Auth.js. Default: false. */
  nextAuth4?: boolean | undefined
}

/** Every option. Introspect and gateways accept this type, so that none can lack one that restricts access. */
export type EverySessionOption = { readonly [Name in keyof RequestSessionOptions]-?: RequestSessionOptions[Name] }

export interface RequestSessionDeps {
  sessions: Pick<SessionStore, "getWithUser">
  signals: Pick<SignalStore, "holderOf">
  /** The token module, with its cache. */
  tokens: Pick<TokenModule, "decode" | "getToken" | "nextAuth4">
  /** Returns the secrets of a tenant for decryption, the newest first. */
  secretsOf: (tenant: string) => readonly string[]
  /** Whether the session cookies of all applications are known to have a secure prefix. */
  secureCookie: boolean
  /** Called for a JWT without the claim that holds the id of its user. */
  onMissingUserId: (tenant: string, claim: string) => void
}

/** The limits of the schema for a session token and for the id of a user, in bytes. */
const maxTokenBytes = 16_384
const maxUserIdBytes = 255

/** The last time that a google.protobuf.Timestamp can represent. */
const lastTime = Date.parse("9999-12-31T23:59:59.999Z")

/**
 * Finds the session of a request and its user. Returns null if the request has no active session, for whatever reason.
 * Reads like SessionStore.getWithUser: an expired session is removed, and none is extended.
 *
 * As in Auth.js, `Authorization: Bearer` is used only if there is no session cookie. A token with the five parts of a
 * JWE is a JWT and is never looked up in the database; any other token is never decrypted. Under one cookie name only
 * one of the two is used, so leftover chunks of a JWT do not authenticate a request whose database session was revoked.
 *
 * A JWT must have a user and an expiry: without `sub` (or the claim `userIdClaim`) or `exp` it is no session.
 *
 * Throws what the store throws, and MISSING_SECRET if the request has a JWT and the tenant has no secrets.
 */
export async function findRequestSession(
  deps: RequestSessionDeps,
  caller: Caller,
  headers: RequestHeaders,
  options: RequestSessionOptions = {},
): Promise<RequestSession | null> {
  const names = cookieNames(options, deps.secureCookie)
  const given = { cookie: headers.get("cookie") ?? "", authorization: bearer(headers.get("authorization") ?? "") }
  const credential = findSessionCredential(given, names)
  if (credential === undefined) return null
  const kind = strategyOf(credential)
  if (options.strategy !== undefined && options.strategy !== kind) return null
  if (kind === "database") return databaseSession(deps, caller, credential.tokens[0] ?? "")

  const claims = await claimsOf(deps, caller, { credential, headers: given, names, options })
  const { userIdClaim = "sub", withUser } = options
  const userId = claims && userIdOf(claims, userIdClaim)
  if (claims && userId === undefined) deps.onMissingUserId(caller.tenant, userIdClaim)
  const session = claims && userId ? jwtSession(claims, userId) : null
  if (session === null || withUser === false) return session
  const { user, isEnded } = await deps.signals.holderOf(caller, originOf(claims as JsonObject, session.userId))
  if (user?.disabled !== undefined || isEnded) return null
  if (!withUser) return session
  return user && { ...session, user }
}

/** RFC 9110, section 11.1: the name of the scheme is case-insensitive. The token module accepts it only as in Auth.js. */
function bearer(authorization: string): string {
  return authorization.replace(/^bearer +/i, "Bearer ")
}

/**
 * Returns the names that the session cookie may have, the one that is hardest to plant first. A cookie with `__Host-`
 * comes from this host over HTTPS, one with `__Secure-` over HTTPS, any other from anywhere in the domain. The first
 * name that a request has is used.
 */
function cookieNames({ cookieName, secureCookie, nextAuth4 }: RequestSessionOptions, isKnownSecure: boolean): string[] {
  if (cookieName !== undefined) return [cookieName]
  const library = nextAuth4 ? "next-auth" : "authjs"
  const plain = sessionCookieName(false, library)
  const secure = [`__Host-${plain}`, sessionCookieName(true, library)]
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

/** Returns the claims of a JWT that can be decrypted, else null. The salt of a Bearer token may be any cookie name. */
async function claimsOf(
  { tokens, secretsOf }: RequestSessionDeps,
  { tenant }: Caller,
  request: {
    credential: SessionCredential
    headers: { cookie: string; authorization: string }
    names: readonly string[]
    options: RequestSessionOptions
  },
): Promise<JsonObject | null> {
  const secret = [...secretsOf(tenant)]
  // Without secrets, getToken would use those of the environment, which may be another tenant's.
  if (secret.length === 0) throw new Failure("MISSING_SECRET")
  const { credential, headers, names, options } = request
  const { salt } = options
  const { getToken, decode: read } = options.nextAuth4 ? tokens.nextAuth4 : tokens
  const decode = readableClaims(read)
  if (credential.from === "cookie") {
    const { cookieName } = credential
    const req = { headers: { cookie: headers.cookie } }
    return (await getToken({ req, secret, decode, cookieName, salt: salt ?? cookieName })) as JsonObject | null
  }
  const req = { headers: { authorization: headers.authorization } }
  for (const each of salt === undefined ? names : [salt]) {
    const claims = await getToken({ req, secret, decode, cookieName: each, salt: each })
    if (claims !== null) return claims as JsonObject
  }
  return null
}

function userIdOf(claims: JsonObject, claim: string): string | undefined {
  const id = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  return typeof id === "string" && id !== "" ? id : undefined
}

function jwtSession(claims: JsonObject, userId: string): RequestSession | null {
  const { exp, jti } = claims
  if (typeof exp !== "number") return null
  return {
    kind: "jwt",
    userId,
    sessionId: typeof jti === "string" && jti !== "" ? jti : undefined,
    expires: new Date(Math.min(Math.floor(exp * 1000), lastTime)),
    user: undefined,
    claims,
  }
}

/** Auth.js sets `iat` anew whenever it renews a JWT. The claim for the time of the sign-in is that of OpenID Connect. */
function originOf({ provider, sid, auth_time, iat }: JsonObject, userId: string): TokenOrigin {
  const textOf = (claim: unknown) => (typeof claim === "string" && claim !== "" ? claim : undefined)
  const signedIn = auth_time ?? iat
  return {
    userId: canBeUserId(userId) ? userId : undefined,
    provider: textOf(provider),
    providerSessionId: textOf(sid),
    signedIn: typeof signedIn === "number" ? signedIn * 1000 : Number.NaN,
  }
}

function canBeUserId(id: string): boolean {
  return Buffer.byteLength(id) <= maxUserIdBytes && !id.includes("\0")
}

/** Returns a `decode` of the token module, with TokenMalformed for claims that a google.protobuf.Struct cannot carry. */
export function readableClaims<Params extends JWTDecodeParams | NextAuth4DecodeParams>(
  decode: <Payload>(params: Params) => Promise<Payload | null>,
) {
  return async (params: Params): Promise<(JWT & JsonObject) | null> => {
    const claims = await decode<JWT & JsonObject>(params)
    if (claims !== null && jsonFault(claims) !== undefined) throw new TokenMalformed()
    return claims
  }
}
