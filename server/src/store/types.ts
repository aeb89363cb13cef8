import type { eventKinds } from "./event-kinds.js"

/** A JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/**
 * Properties beyond those that the contract names, stored as given. If a named property was given as null and could
 * also be absent, it is here under its contract name (`name`, `refresh_token`, …) with the value null, and its own
 * field is undefined. So every layer distinguishes "absent" from "null".
 */
export type Extra = { [key: string]: JsonValue }

/** A person who can sign in. `email` is stored as given; dates have millisecond precision. */
export interface User {
  id: string
  email?: string | undefined
  emailVerified?: Date | undefined
  name?: string | undefined
  image?: string | undefined
  extra: Extra
  /** Only while the user is disabled. */
  disabled?: Disabled | undefined
}

/** A user that cannot sign in, and has no sessions. */
export interface Disabled {
  /** Since when. */
  since: Date
  /** The end; undefined: until the user is enabled. */
  until?: Date | undefined
  /** Why, for operators. */
  reason?: string | undefined
}

/** The changes to a user: undefined leaves a field unchanged, null clears it; `extra` is merged key by key. */
export interface UserPatch {
  email?: string | null | undefined
  emailVerified?: Date | null | undefined
  name?: string | null | undefined
  image?: string | null | undefined
  extra?: Extra | undefined
}

/** When a row was created, and when a call last wrote it, even if that write changed nothing. */
export interface Times {
  created: Date
  updated: Date
}

/** A user as returned by lists. */
export interface ListedUser extends User, Times {}

/** A filter of users that are counted. A user matches if it satisfies every condition that is given. */
export interface CountFilter {
  /** Only the user with this address. Addresses are compared as by getByEmail. */
  email?: string | undefined
  /** Only users that were created at this time or later. */
  createdSince?: Date | undefined
  /** Only users that were created before this time. */
  createdBefore?: Date | undefined
}

/** A filter of users. Each of these conditions is given alone, except `disabled: false`, which goes with every other. */
export interface UserFilter extends CountFilter {
  /** Only users whose address begins with this text. Both are compared as addresses are. */
  emailPrefix?: string | undefined
  /** Only users whose name begins with this text, at most 128 characters. Both are compared as addresses are. */
  namePrefix?: string | undefined
  /** Only users that have an account of this provider. */
  provider?: string | undefined
  /** Only users that were seen on the UTC day of this time or later. */
  lastSeenSince?: Date | undefined
  /** true: only users that are disabled now; false: only those that are not. */
  disabled?: boolean | undefined
  /** true: the newest come first. Only for lists that are ordered by a time. */
  newestFirst?: true | undefined
}

/** A request for one page of a list. */
export interface PageRequest {
  /** The maximum number of items; at least 1. */
  size: number
  /** `nextToken` of the previous page; undefined: the first page. */
  token?: string | undefined
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[]
  /** The token of the next page; undefined: this is the last page. */
  nextToken?: string | undefined
}

export type AccountType = "oauth" | "oidc" | "email" | "webauthn"

/** The two parts of an account's key, compared byte for byte. */
export interface AccountKey {
  provider: string
  providerAccountId: string
}

/** A connection between a user and a provider. `expires_in` and `expires_at` are in seconds; -0 is stored as 0. */
export interface Account extends AccountKey {
  userId: string
  type: AccountType
  access_token?: string | undefined
  token_type?: string | undefined
  id_token?: string | undefined
  refresh_token?: string | undefined
  scope?: string | undefined
  expires_in?: number | undefined
  expires_at?: number | undefined
  authorization_details?: JsonValue[] | undefined
  extra: Extra
}

/** An account as returned by lists. */
export interface ListedAccount extends Account, Times {}
/** Identifies an account of a user. Without `providerAccountId`: the only account that the user has at the provider. */
export interface UserAccountKey {
  userId: string
  provider: string
  providerAccountId?: string | undefined
}

/** An account with the state of its token refresh. */
export interface RefreshableAccount {
  account: Account
  refresh: RefreshState
  /** The time since the account was written, in milliseconds. */
  ageMs: number
  /** The failure of the last refresh with the account's current refresh token, also after its pause is over. */
  lastFailure?: string | undefined
}

/** The state of a token refresh. `ms` is the longest time that the state lasts from now on. */
export type RefreshState =
  | { kind: "idle" }
  /** A process is refreshing the tokens. */
  | { kind: "held"; ms: number }
  /** A refresh with the account's current refresh token failed. */
  | { kind: "failed"; failure: string; ms: number }

/** The answer of a provider's token endpoint. A field that was not in the answer is undefined. */
export interface RefreshedTokens {
  access_token: string
  token_type: string
  refresh_token?: string | undefined
  id_token?: string | undefined
  scope?: string | undefined
  expires_in?: number | undefined
  expires_at?: number | undefined
}

/** Tokens of a provider's answer that has no usable access token. */
export type KeptTokens = { [Name in keyof RefreshedTokens]?: RefreshedTokens[Name] | undefined }

/** The sign-in of a user on one device. */
export interface Session {
  /**
   * The id of the session for callers that do not have its token: random, unique within the tenant, created by the
   * store.
   */
  id?: string | undefined
  sessionToken: string
  userId: string
  expires: Date
  extra: Extra
}

/** How a session began, as far as the application provided it. */
export interface SessionMetadata {
  /** The address of the client. */
  ip?: string | undefined
  userAgent?: string | undefined
  /** How the user was authenticated: `passkey`, `email`, … */
  authMethod?: string | undefined
  provider?: string | undefined
  /** The id of the person who is signed in as the user. */
  impersonator?: string | undefined
  /** The session at the provider: the claim `sid` of its ID token. */
  providerSessionId?: string | undefined
}

/** A session as shown to callers other than its holder: without the token. */
export interface ListedSession extends Omit<Session, "sessionToken">, SessionMetadata {
  id: string
  created: Date
  /** When the session was last used, to about a minute; undefined: not since this is recorded. */
  lastSeen?: Date | undefined
}

/** A filter of sessions. A session matches if it satisfies every condition that is given. */
export interface SessionFilter {
  /** Undefined: the sessions of all users, without the conditions `active` and `provider`. */
  userId?: string | undefined
  /** Only sessions with this address of the client. Only without `userId`. */
  ip?: string | undefined
  /** Only sessions with an `impersonator`. Only without `userId` and `ip`. */
  impersonated?: true | undefined
  /** true: only sessions that have not expired; false: only those that have. */
  active?: boolean | undefined
  /** Only sessions that began at this provider. */
  provider?: string | undefined
  /** Only sessions that were created at this time or later. */
  createdSince?: Date | undefined
}

/** A filter of sessions that are counted. A session matches if it satisfies every condition that is given. */
export interface SessionCountFilter {
  /** Only sessions that have not ended. */
  active: boolean
  /** Only sessions that were created at this time or later. */
  createdSince?: Date | undefined
  /** Only sessions that were created before this time. */
  createdBefore?: Date | undefined
}

/** The sessions of a user to keep when the others are revoked. Neither field: keep none. */
export interface KeptSessions {
  id?: string | undefined
  sessionToken?: string | undefined
}

/** The additional result of a write that may revoke all sessions of a user. */
export interface Revocation {
  /** The number of deleted sessions; undefined if no revocation was due. */
  revokedSessions?: number | undefined
}

/** The progress of a revocation of many users' sessions. */
export interface RevokedSessions {
  /** The number of users, counted from the first one, whose sessions are all deleted. */
  processed: number
  /** The number of deleted sessions. */
  revoked: number
}

/** The rules for the sessions of a tenant. An undefined rule limits nothing. */
export interface SessionPolicy {
  /** How long after its creation a session ends, in milliseconds. */
  maxAge?: number | undefined
  /** How long after its last recorded use a session ends, in milliseconds. */
  idleTimeout?: number | undefined
  /** The most sessions of a user. */
  maxSessions?: number | undefined
  /** What happens when a user who has `maxSessions` gets another one. Default `end_oldest`. */
  atLimit?: "end_oldest" | "reject_new" | undefined
}

/** Changes of a policy: null removes a rule, and undefined keeps it. */
export type SessionPolicyPatch = { [Rule in keyof SessionPolicy]: SessionPolicy[Rule] | null }

/** The changes to a session: undefined leaves a field unchanged; `extra` is merged key by key. */
export interface SessionPatch {
  userId?: string | undefined
  expires?: Date | undefined
  extra?: Extra | undefined
}

/** A session and its user. */
export interface SessionAndUser {
  session: Session
  user: User
}

/** When a session is extended, and for how long. Both values are in milliseconds, `maxAge` is above 0. */
export interface SessionExtension {
  /** How long the session lasts after an extension. */
  maxAge: number
  /** The time after an extension in which the session is not extended again. */
  updateAge: number
}

/** The result of an access to a session. */
export interface AccessedSession extends SessionAndUser {
  /** Whether this access extended the session. */
  extended: boolean
}

/** The state of a process whose clients cache sessions in memory. */
export interface CachingProcess {
  /** The id of the process: a random value. */
  process: string
  /**
   * How long a client may use its cache before the process has to confirm it again, in milliseconds; the longest of all
   * clients.
   */
  leaseMs: number
  /** The sequence up to which all of the clients have confirmed that they know the events. */
  confirmed: number
}

/** The kind of a write: the object and the operation. */
export type EventKind = (typeof eventKinds)[number]

/** The public ids of the objects that an event is about. */
export interface EventIds {
  userId?: string | undefined
  /**
   * The id of the session, never its token. Of `user.sessions_revoked`: the session to keep, if it was given by its id.
   */
  sessionId?: string | undefined
  /** The provider of the account, or of the sessions. */
  provider?: string | undefined
}

/** The record of a committed write. */
export interface StoredEvent extends EventIds {
  /** Greater than the sequence of every event that was committed before this write began. Never changes. */
  sequence: number
  tenant: string
  kind: EventKind
  /** When it was written, by the database's clock as the writing process knew it. */
  created: Date
}

/** A position in the sequence of events. */
export interface EventPosition {
  /** See EventHistory.id. */
  history: string
  /** Events with this sequence or a lower one are before the position. */
  sequence: number
}

/** Where the events of a tenant stand. */
export interface EventHead {
  /** See EventHistory.id. */
  history: string
  /** The last sequence; 0 if there has never been an event. */
  last: number
}

/** The range of the stored events of a tenant. */
export interface EventHistory {
  /**
   * The id of the history. Each tenant of each database has its own, because another one has other events under the same
   * sequences.
   */
  id: string
  /** Events with this sequence or a lower one may have been cleaned up. */
  before: number
  /** The last sequence; 0 if there has never been an event. */
  last: number
}

/** The record of a call that writes, or that was rejected. Its subject and fields are ids and numbers. */
export interface AuditEntry {
  created: Date
  /** The method, such as `authwire.v1.UserService/DeleteUser`. Empty for a summary of rejected calls. */
  method: string
  /** The id of the caller's API key. */
  keyId?: string | undefined
  /** Its display name at the time of the call. */
  keyName?: string | undefined
  /** The user that the call is about, in the form in which the audit shows it. */
  subject?: string | undefined
  /** The name of the gRPC status. */
  code: string
  reason?: string | undefined
  requestId?: string | undefined
  traceId?: string | undefined
  /** The number of rejected calls of a summary. */
  count?: number | undefined
  /** Further fields of the method. */
  fields?: Record<string, string | number> | undefined
}

/** A filter of audit entries. At most one of `subject`, `keyId` and `method` is given. */
export interface AuditFilter {
  subject?: string | undefined
  keyId?: string | undefined
  method?: string | undefined
  /** Only entries of this time or later. */
  since?: Date | undefined
  /** Only entries before this time. */
  before?: Date | undefined
}

/** The two parts of a verification token's key, compared byte for byte. */
export interface VerificationTokenKey {
  identifier: string
  token: string
}

/** A token that is mailed to a person for signing in, usable once. */
export interface VerificationToken extends VerificationTokenKey {
  expires: Date
}

/** A passkey of a user. `counter` is an unsigned 32-bit integer. */
export interface Authenticator {
  credentialID: string
  userId: string
  providerAccountId: string
  credentialPublicKey: string
  counter: number
  credentialDeviceType: string
  credentialBackedUp: boolean
  transports?: string | undefined
  extra: Extra
  /** The name that the user has given to it. */
  displayName?: string | undefined
  /** When a sign-in last set the counter. */
  lastUsed?: Date | undefined
}

/** An authenticator as returned by lists. */
export interface ListedAuthenticator extends Authenticator, Times {}

/** A request that a client may repeat, with the data that identifies a repetition. */
export interface RepeatableRequest {
  /** The owner of the key, within the tenant. No other owner ever gets the answer. */
  owner: string
  /** The idempotency key that the owner chose. */
  key: string
  /** Returns the same text for equal requests, and different texts for different ones. */
  digest(): string
}

/** An application or a group of applications with separate data. */
export interface Tenant {
  name: string
  created: Date
  /** When it was marked, if it is being deleted. */
  deleted?: Date | undefined
}

/** A key that signs who a user is. */
export interface SigningKey {
  /** One more than that of the key before it. */
  number: number
  /** The private key, as a JWK in JSON; undefined if no encryption key of the process opens it. */
  privateKey: string | undefined
  /** It signs from this time on, until the next key does. It is published before. */
  usedFrom: Date
}

/** A credential of callers: a secret, or the certificate of a client. */
export interface ApiKey {
  /** The public part of the key. It appears in logs. */
  id: string
  /** The display name. */
  name: string
  tenant: string
  /** The scopes, such as `users:read`. `all` stands for every scope but those of `scopesBesideAll` in auth/key.ts. */
  scopes: string[]
  /** SHA-256 of the secret part; undefined if the key accepts only a certificate. */
  secretHash?: Buffer | undefined
  /** A name in a client certificate, such as `DNS:app.internal`. A client with this certificate needs no secret. */
  certificateName?: string | undefined
  created: Date
  /** The time from which the key is rejected; undefined: the key does not expire. */
  expires?: Date | undefined
  revoked?: Date | undefined
}

/** Why a webhook is disabled: by a call, by an answer 410, after three days of failures, or because it has missed events. */
export const webhookDisableReasons = ["requested", "gone", "failing", "behind"] as const
export type WebhookDisableReason = (typeof webhookDisableReasons)[number]

/** An address that is told of the events of a tenant. */
export interface Webhook {
  /** 32 hexadecimal digits. */
  id: string
  name: string
  url: string
  /** The kinds of events that it is told of. Empty: all kinds. */
  kinds: EventKind[]
  /** Whether deliveries have the user as it is when they are sent. */
  includeUser: boolean
  created: Date
  disabled?: Date | undefined
  disableReason?: WebhookDisableReason | undefined
  /** Until when deliveries are signed with the previous secret too. */
  previousSecretUntil?: Date | undefined
}

/** Changes of a webhook: undefined leaves a field unchanged. `disabled: null` enables it. */
export interface WebhookPatch extends Partial<Pick<Webhook, "name" | "url" | "kinds" | "includeUser">> {
  disabled?: { at: Date; reason: WebhookDisableReason } | null | undefined
}

/** A webhook of any tenant that is enabled, as the process sees it that sends. */
export interface ActiveWebhook extends Webhook {
  tenant: string
  /** The sequence of the last event that it has a delivery of, or that is not for it. */
  position: number
  /** Another number after each change of the webhook, and of its deliveries by a call. */
  version: number
}

/** The key of a delivery within its tenant. */
export interface WebhookDeliveryKey {
  webhookId: string
  /** One more than that of the delivery before it. */
  number: number
}

/** What a webhook is to be told. */
export interface WebhookMessage extends EventIds {
  /** The kind of the event; `webhook.test` is none. */
  kind: EventKind | "webhook.test"
  /** The sequence of the event; undefined for a test. */
  sequence?: number | undefined
  /** When the event was written. */
  created: Date
}

/** What became of the attempts to send a delivery. */
export interface WebhookAttempts {
  /** Whether it is still to be sent, or sent again. */
  pending: boolean
  attempts: number
  lastAttempt?: Date | undefined
  /** When it is sent next; undefined if it is not pending. */
  nextAttempt?: Date | undefined
  /** The status of the last answer; undefined: there was none. */
  status?: number | undefined
  /** Why there was none. */
  failure?: string | undefined
  /** How long the last attempt took, in milliseconds. */
  durationMs?: number | undefined
}

export interface WebhookDelivery extends WebhookDeliveryKey, WebhookMessage, WebhookAttempts {}
