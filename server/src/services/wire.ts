import {
  type AccountSchema,
  AccountType,
  type AuthenticatorSchema,
  type CreateAuthenticatorRequest,
  type CreateSessionRequest,
  type CreateUserRequest,
  EventKind,
  type EventSchema,
  type GetAccessTokenRequest,
  type GetAccessTokenResponseSchema,
  type IntrospectRequest,
  type IntrospectResponseSchema,
  type LinkAccountRequest,
  type ListSessionsRequest,
  type ListUsersRequest,
  type RevokeUserSessionsRequest,
  type SessionExtension,
  type SessionSchema,
  SessionStrategy,
  type UpdateSessionRequest,
  type UpdateUserRequest,
  type UserSchema,
  type VerificationTokenSchema,
} from "@authwire/proto"
import type { DescMessage, JsonObject, Message, MessageInitShape } from "@bufbuild/protobuf"
import { type Duration, type Timestamp, timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Failure, type Reason } from "../errors/failure.js"
import type { RequestSession, RequestSessionOptions } from "../introspection/request-session.js"
import { checkJson } from "../rpc/json.js"
import type * as domain from "../store/types.js"

// The only mapping between messages and domain types. Requests have been validated by now, so the rules of the schema
// guarantee what these functions assume of a field.

/** The largest value of a Timestamp, the end of the year 9999, in seconds. */
const maxTimestampSeconds = 253_402_300_799

/** The page size if the request has none, as documented in the schema. */
const defaultPageSize = 50

/** T with every property present, if only as undefined, so that the compiler reports one that a mapping omits. */
type Whole<T> = { [K in keyof Required<T>]: T[K] }

/** The same for a message: every field of the schema is present. */
type WholeMessage<S extends DescMessage> = Exclude<MessageInitShape<S>, Message> & Record<keyof S["field"], unknown>

/** Returns a result of the store, or throws the reason that the schema has for null. */
export function found<T>(thing: T | null, reason: Extract<Reason, `${string}_NOT_FOUND`>): T {
  if (thing === null) throw new Failure(reason)
  return thing
}

/** Rounds down to milliseconds, also before 1970. Throws INVALID_FIELD for bad `nanos`, as the rules may let them pass. */
export function toDate(timestamp: Timestamp, field: string): Date {
  return new Date(Number(timestamp.seconds) * 1000 + toWholeMs(timestamp, 0, field))
}

const nanosPerSecond = 1_000_000_000

/** Returns the whole milliseconds of `nanos`. Throws INVALID_FIELD unless it is from `least` to less than a second. */
function toWholeMs({ nanos }: { nanos: number }, least: number, field: string): number {
  if (nanos < least || nanos >= nanosPerSecond) {
    const description = `must have nanos from ${least} to 999999999`
    throw new Failure("INVALID_FIELD", { violations: [{ field, description }] })
  }
  return Math.floor(nanos / 1_000_000)
}

/** Converts a duration to milliseconds, rounded down. */
function toMilliseconds(duration: Duration, field: string): number {
  return Number(duration.seconds) * 1000 + toWholeMs(duration, 1 - nanosPerSecond, field)
}

export function toUserAccountKey(request: GetAccessTokenRequest): domain.UserAccountKey {
  const { userId, provider, providerAccountId } = request
  return { userId, provider, providerAccountId: providerAccountId === "" ? undefined : providerAccountId }
}

/** Returns the minimum validity of the request in milliseconds. Default: 60 seconds. */
export function toMinValidity({ minValidity }: GetAccessTokenRequest): number {
  return minValidity === undefined ? 60_000 : toMilliseconds(minValidity, "min_validity")
}

/** Converts an account whose access token is valid. */
export function fromAccessToken(account: domain.Account): WholeMessage<typeof GetAccessTokenResponseSchema> {
  const { access_token: accessToken = "", token_type: tokenType = "", scope = "", expires_at } = account
  const isDate = expires_at !== undefined && Math.abs(expires_at) <= maxTimestampSeconds
  return { accessToken, tokenType, scope, expires: isDate ? timestampFromMs(Math.floor(expires_at * 1000)) : undefined }
}

export function toUser(request: CreateUserRequest, id: string): Whole<domain.User> {
  return {
    id,
    email: request.email,
    emailVerified: request.emailVerified && toDate(request.emailVerified, "email_verified"),
    name: request.name,
    image: request.image,
    extra: toExtra(request.extra),
  }
}

export function toUserPatch(request: UpdateUserRequest): domain.UserPatch {
  const patch: domain.UserPatch = {}
  for (const path of request.updateMask?.paths ?? []) {
    if (path === "email") patch.email = request.email ?? null
    else if (path === "email_verified")
      patch.emailVerified = request.emailVerified ? toDate(request.emailVerified, "email_verified") : null
    else if (path === "name") patch.name = request.name ?? null
    else if (path === "image") patch.image = request.image ?? null
    else if (path === "extra") patch.extra = toExtra(request.extra)
    else throw unknownPath()
  }
  return patch
}

export function toUserFilter(
  request: Pick<ListUsersRequest, "email" | "createdSince" | "createdBefore">,
): Whole<domain.UserFilter> {
  const { email, createdSince, createdBefore } = request
  return {
    email,
    createdSince: createdSince && toDate(createdSince, "created_since"),
    createdBefore: createdBefore && toDate(createdBefore, "created_before"),
  }
}

export function fromUser(user: domain.User | domain.ListedUser): WholeMessage<typeof UserSchema> {
  return {
    id: user.id,
    emailVerified: user.emailVerified && timestampFromDate(user.emailVerified),
    email: user.email,
    name: user.name,
    image: user.image,
    extra: fromExtra(user.extra),
    ...timesOf(user),
  }
}

const accountTypes = {
  [AccountType.OAUTH]: "oauth",
  [AccountType.OIDC]: "oidc",
  [AccountType.EMAIL]: "email",
  [AccountType.WEBAUTHN]: "webauthn",
} as const

const accountTypeValues = {
  oauth: AccountType.OAUTH,
  oidc: AccountType.OIDC,
  email: AccountType.EMAIL,
  webauthn: AccountType.WEBAUTHN,
} as const

export function toAccount(request: LinkAccountRequest): Whole<domain.Account> {
  return {
    userId: request.userId,
    type: accountTypes[request.type as keyof typeof accountTypes],
    provider: request.provider,
    providerAccountId: request.providerAccountId,
    access_token: request.accessToken,
    token_type: request.tokenType,
    id_token: request.idToken,
    refresh_token: request.refreshToken,
    scope: request.scope,
    expires_in: request.expiresIn,
    expires_at: request.expiresAt,
    authorization_details: request.authorizationDetails?.items.map((item, index) => {
      checkJson(item, `authorization_details.items[${index}]`)
      return item
    }),
    extra: toExtra(request.extra),
  }
}

export function fromAccount(account: domain.Account | domain.ListedAccount): WholeMessage<typeof AccountSchema> {
  return {
    userId: account.userId,
    type: accountTypeValues[account.type],
    provider: account.provider,
    providerAccountId: account.providerAccountId,
    accessToken: account.access_token,
    tokenType: account.token_type,
    idToken: account.id_token,
    refreshToken: account.refresh_token,
    scope: account.scope,
    expiresIn: account.expires_in,
    expiresAt: account.expires_at,
    // The schema accepts only objects, so only objects were stored.
    authorizationDetails: account.authorization_details && { items: account.authorization_details as JsonObject[] },
    extra: fromExtra(account.extra),
    ...timesOf(account),
  }
}

export function toSession(request: CreateSessionRequest): Whole<Omit<domain.Session, "id">> {
  return {
    sessionToken: request.sessionToken,
    userId: request.userId,
    expires: toDate(required(request.expires, "expires"), "expires"),
    extra: toExtra(request.extra),
  }
}

export function toSessionOrigin(request: CreateSessionRequest): Whole<domain.SessionOrigin> {
  const { ip, userAgent, authMethod, provider, impersonator } = request
  return { ip, userAgent, authMethod, provider, impersonator }
}

export function toSessionFilter(request: ListSessionsRequest): Whole<domain.SessionFilter> {
  const { userId, active, provider, createdSince } = request
  return { userId, active, provider, createdSince: createdSince && toDate(createdSince, "created_since") }
}

export function toKeptSessions(request: RevokeUserSessionsRequest): Whole<domain.KeptSessions> {
  return { id: request.keptId, sessionToken: request.keptSessionToken }
}

export function toSessionPatch(request: UpdateSessionRequest): domain.SessionPatch {
  const patch: domain.SessionPatch = {}
  for (const path of request.updateMask?.paths ?? []) {
    if (path === "user_id") patch.userId = request.userId
    else if (path === "expires") patch.expires = request.expires && toDate(request.expires, "expires")
    else if (path === "extra") patch.extra = toExtra(request.extra)
    else throw unknownPath()
  }
  return patch
}

export function toSessionExtension(extension: SessionExtension): Whole<domain.SessionExtension> {
  return {
    maxAge: toMilliseconds(required(extension.maxAge, "extend.max_age"), "extend.max_age"),
    updateAge: toMilliseconds(required(extension.updateAge, "extend.update_age"), "extend.update_age"),
  }
}

/** Converts a session. A listed session has no token. */
export function fromSession(
  session: Omit<domain.Session, "sessionToken"> &
    Partial<Pick<domain.Session, "sessionToken"> & Omit<domain.ListedSession, "id">>,
): WholeMessage<typeof SessionSchema> {
  return {
    sessionToken: session.sessionToken ?? "",
    userId: session.userId,
    expires: timestampFromDate(session.expires),
    extra: fromExtra(session.extra),
    id: session.id ?? "",
    createTime: session.created && timestampFromDate(session.created),
    lastSeenTime: session.lastSeen && timestampFromDate(session.lastSeen),
    ip: session.ip,
    userAgent: session.userAgent,
    authMethod: session.authMethod,
    provider: session.provider,
    impersonator: session.impersonator,
  }
}

const strategies = {
  [SessionStrategy.UNSPECIFIED]: undefined,
  [SessionStrategy.DATABASE]: "database",
  [SessionStrategy.JWT]: "jwt",
} as const

const strategyValues = { database: SessionStrategy.DATABASE, jwt: SessionStrategy.JWT } as const

export function toRequestSessionOptions(request: IntrospectRequest): Whole<RequestSessionOptions> {
  const { cookieName, secureCookie, salt, strategy, withUser } = request
  return { cookieName, secureCookie, salt, strategy: strategies[strategy], withUser }
}

/** Converts the session of a request. Without a session the response contains nothing else, not even a reason. */
export function fromRequestSession(
  session: RequestSession | null,
): WholeMessage<typeof IntrospectResponseSchema> | { active: false } {
  if (session === null) return { active: false }
  const { kind, userId, sessionId = "", expires, user, claims } = session
  return {
    active: true,
    sub: userId,
    exp: Math.floor(expires.getTime() / 1000),
    iat: typeof claims?.iat === "number" ? claims.iat : undefined,
    jti: sessionId,
    iss: typeof claims?.iss === "string" ? claims.iss : undefined,
    aud: [claims?.aud].flat().filter((one) => typeof one === "string"),
    strategy: strategyValues[kind],
    sessionId,
    expires: timestampFromDate(expires),
    user: user && fromUser(user),
    claims,
  }
}

export function fromVerificationToken(token: domain.VerificationToken): WholeMessage<typeof VerificationTokenSchema> {
  return { identifier: token.identifier, token: token.token, expires: timestampFromDate(token.expires) }
}

export function toAuthenticator(request: CreateAuthenticatorRequest): Whole<domain.Authenticator> {
  return {
    credentialID: request.credentialId,
    userId: request.userId,
    providerAccountId: request.providerAccountId,
    credentialPublicKey: request.credentialPublicKey,
    counter: request.counter,
    credentialDeviceType: request.credentialDeviceType,
    credentialBackedUp: request.credentialBackedUp,
    transports: request.transports,
    extra: toExtra(request.extra),
  }
}

export function fromAuthenticator(
  authenticator: domain.Authenticator | domain.ListedAuthenticator,
): WholeMessage<typeof AuthenticatorSchema> {
  return {
    credentialId: authenticator.credentialID,
    userId: authenticator.userId,
    providerAccountId: authenticator.providerAccountId,
    credentialPublicKey: authenticator.credentialPublicKey,
    counter: authenticator.counter,
    credentialDeviceType: authenticator.credentialDeviceType,
    credentialBackedUp: authenticator.credentialBackedUp,
    transports: authenticator.transports,
    extra: fromExtra(authenticator.extra),
    ...timesOf(authenticator),
  }
}

/** Converts the pagination fields, which have the names of AIP-158. */
export function toPage(request: Pick<ListUsersRequest, "pageSize" | "pageToken">): domain.PageRequest {
  return { size: request.pageSize || defaultPageSize, token: request.pageToken || undefined }
}

/** Returns a field that the schema's `required` rule guarantees. Throws INVALID_FIELD if it is absent. */
export function required<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw new Failure("INVALID_FIELD", { violations: [{ field, description: "is required" }] })
  return value
}

/** Returns the times of an item of a list. Other results have none. */
function timesOf(thing: object | domain.Times) {
  if (!("created" in thing)) return { createTime: undefined, updateTime: undefined }
  return { createTime: timestampFromDate(thing.created), updateTime: timestampFromDate(thing.updated) }
}

// The rule of the schema accepts paths below a field: `extra.role`, `name.x`.
function unknownPath(): Failure {
  return new Failure("INVALID_FIELD", {
    violations: [{ field: "update_mask", description: "must name whole fields; to set a key of extra, name extra" }],
  })
}

function toExtra(extra: JsonObject | undefined): domain.Extra {
  if (extra === undefined) return {}
  checkJson(extra, "extra")
  return extra
}

function fromExtra(extra: domain.Extra): JsonObject | undefined {
  return Object.keys(extra).length === 0 ? undefined : extra
}

/** The kinds of the schema, for both directions. The compiler reports a kind that is missing. */
const eventKinds: Record<domain.EventKind, EventKind> = {
  "user.created": EventKind.USER_CREATED,
  "user.updated": EventKind.USER_UPDATED,
  "user.deleted": EventKind.USER_DELETED,
  "user.sessions_revoked": EventKind.USER_SESSIONS_REVOKED,
  "account.linked": EventKind.ACCOUNT_LINKED,
  "account.updated": EventKind.ACCOUNT_UPDATED,
  "account.unlinked": EventKind.ACCOUNT_UNLINKED,
  "session.created": EventKind.SESSION_CREATED,
  "session.updated": EventKind.SESSION_UPDATED,
  "session.deleted": EventKind.SESSION_DELETED,
  "verification_token.created": EventKind.VERIFICATION_TOKEN_CREATED,
  "verification_token.used": EventKind.VERIFICATION_TOKEN_USED,
  "authenticator.created": EventKind.AUTHENTICATOR_CREATED,
  "authenticator.updated": EventKind.AUTHENTICATOR_UPDATED,
}

/** Converts a list of kinds. Returns undefined, for all kinds, if the list is empty. */
export function toEventKinds(kinds: readonly EventKind[]): ReadonlySet<domain.EventKind> | undefined {
  if (kinds.length === 0) return undefined
  const wanted = Object.entries(eventKinds).filter(([, kind]) => kinds.includes(kind))
  return new Set(wanted.map(([kind]) => kind as domain.EventKind))
}

export function fromEvent(event: domain.StoredEvent): WholeMessage<typeof EventSchema> {
  return {
    kind: eventKinds[event.kind],
    createTime: timestampFromDate(event.created),
    userId: event.userId,
    sessionId: event.sessionId,
    provider: event.provider,
  }
}
