import type { eventKinds } from "./event-kinds.js"

/** A value of JSON. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/**
 * Properties beyond those that the contract names, kept as they were given. A named property that was given as null
 * where it might also be absent stands here under its contract name (`name`, `refresh_token`, …) with the value null,
 * and its own field is undefined: so "absent" and "null" stay two things through every layer.
 */
export type Extra = { [key: string]: JsonValue }

/** A person who can sign in. `email` is kept as given; dates are to the millisecond. */
export interface User {
  id: string
  email?: string | undefined
  emailVerified?: Date | undefined
  name?: string | undefined
  image?: string | undefined
  extra: Extra
}

/** What to change of a user: undefined leaves a field alone, null clears it; `extra` is merged key by key. */
export interface UserPatch {
  email?: string | null | undefined
  emailVerified?: Date | null | undefined
  name?: string | null | undefined
  image?: string | null | undefined
  extra?: Extra | undefined
}

/** When something was created, and when a call last wrote it, also where that changed nothing. */
export interface Times {
  created: Date
  updated: Date
}

/** A user as lists have it. */
export interface ListedUser extends User, Times {}

/** Which users are meant: those whom each of the filters that are given lets through. */
export interface UserFilter {
  /** Only the user with this address, which is compared as getByEmail does. */
  email?: string | undefined
  /** Only users who were created at this moment or later. */
  createdSince?: Date | undefined
  /** Only users who were created before this moment. */
  createdBefore?: Date | undefined
}

/** Which page of a list is wanted. */
export interface PageRequest {
  /** The most items that it may have; at least 1. */
  size: number
  /** `nextToken` of the page before it; undefined: the first page. */
  token?: string | undefined
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[]
  /** Asks for the next page; undefined: there is none. */
  nextToken?: string | undefined
}

export type AccountType = "oauth" | "oidc" | "email" | "webauthn"

/** The two parts that name an account, compared byte for byte. */
export interface AccountKey {
  provider: string
  providerAccountId: string
}

/** A connection between a user and a provider. `expires_in` and `expires_at` are seconds; -0 is kept as 0. */
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

/** An account as lists have it. */
export interface ListedAccount extends Account, Times {}
/** Which account of a user is meant; without `providerAccountId`, the only one that the user has at the provider. */
export interface UserAccountKey {
  userId: string
  provider: string
  providerAccountId?: string | undefined
}

/** An account, and how it stands with a refresh of its tokens. */
export interface RefreshableAccount {
  account: Account
  refresh: RefreshState
}

/** `ms` is how long it is so at the most, from now on. */
export type RefreshState =
  | { kind: "idle" }
  /** Somebody refreshes the tokens. */
  | { kind: "held"; ms: number }
  /** The refresh token that the account has was tried, and it failed. */
  | { kind: "failed"; failure: string; ms: number }

/** What a provider's token endpoint answered. A field that is undefined was not there. */
export interface RefreshedTokens {
  access_token: string
  token_type: string
  refresh_token?: string | undefined
  id_token?: string | undefined
  scope?: string | undefined
  expires_in?: number | undefined
  expires_at?: number | undefined
}

/** The sign-in of a user on one device. */
export interface Session {
  /** What it is called by who does not have the token: random, unique in the tenant. The store makes it. */
  id?: string | undefined
  sessionToken: string
  userId: string
  expires: Date
  extra: Extra
}

/** How a session began, as far as the application has said it. */
export interface SessionOrigin {
  /** Address of the client. */
  ip?: string | undefined
  userAgent?: string | undefined
  /** How the user was authenticated: `passkey`, `email`, … */
  authMethod?: string | undefined
  provider?: string | undefined
  /** Who is signed in as the user. */
  impersonator?: string | undefined
}

/** A session as others than its holder see it: without the token. */
export interface ListedSession extends Omit<Session, "sessionToken">, SessionOrigin {
  id: string
  created: Date
  /** When somebody came with it last, to about a minute; undefined: not since that is kept. */
  lastSeen?: Date | undefined
}

/** Which sessions of a user are meant: those that each of the filters that are given lets through. */
export interface SessionFilter {
  userId: string
  /** Only those that have not expired, or only those that have. */
  active?: boolean | undefined
  /** Only those that began at this provider. */
  provider?: string | undefined
  /** Only those that were created at this moment or later. */
  createdSince?: Date | undefined
}

/** Which sessions of a user stay when the others are revoked; neither: none. */
export interface KeptSessions {
  id?: string | undefined
  sessionToken?: string | undefined
}

/** What a write that may sign a user out everywhere has done beside. */
export interface Revocation {
  /** How many sessions were deleted; undefined where none were to be. */
  revokedSessions?: number | undefined
}

/** How far a revocation of many users' sessions has come. */
export interface RevokedSessions {
  /** How many of the users, from the first one on, have none any more of those that they had. */
  processed: number
  /** How many sessions were deleted. */
  revoked: number
}

/** What to change of a session: undefined leaves a field alone; `extra` is merged key by key. */
export interface SessionPatch {
  userId?: string | undefined
  expires?: Date | undefined
  extra?: Extra | undefined
}

/** A session and the user who is signed in by it. */
export interface SessionAndUser {
  session: Session
  user: User
}

/** When a session is extended, and for how long: both in milliseconds, `maxAge` above 0. */
export interface SessionExtension {
  /** How long the session lasts from when it is extended. */
  maxAge: number
  /** How long it is not extended again. */
  updateAge: number
}

/** A session that was accessed. */
export interface AccessedSession extends SessionAndUser {
  /** Whether this access has extended it. */
  extended: boolean
}

/** What a process says of its clients that keep sessions in memory. */
export interface CachingProcess {
  /** Names the process: a random value. */
  process: string
  /** How long any of them may use what it keeps before the process has to vouch for it again, in milliseconds. */
  leaseMs: number
  /** All of them know of the events up to this sequence. */
  confirmed: number
}

/** What was written: of which thing, and how. */
export type EventKind = (typeof eventKinds)[number]

/** What an event is about, as far as that has an id that anybody may see. */
export interface EventIds {
  userId?: string | undefined
  /** The id of the session, never its token. Of `user.sessions_revoked`: the one that was to stay, where it was named by its id. */
  sessionId?: string | undefined
  /** Of the account. */
  provider?: string | undefined
}

/** Something that was written and is committed. */
export interface StoredEvent extends EventIds {
  /** Greater than that of all events that were committed before its write began; never changes. */
  sequence: number
  tenant: string
  kind: EventKind
  /** When it was written, by the clock of the process that did it. */
  created: Date
}

/** A position in the events. */
export interface EventPosition {
  /** See EventHistory.id. */
  history: string
  /** What has this sequence or a lower one is before it. */
  sequence: number
}

/** The events that there are. */
export interface EventHistory {
  /** Names the database: another one has another history, with other events under the same sequences. */
  id: string
  /** Events with this sequence or a lower one may have been cleaned away. */
  before: number
  /** The last sequence; 0 where there was never one. */
  last: number
}

/** The two parts that name a verification token, compared byte for byte. */
export interface VerificationTokenKey {
  identifier: string
  token: string
}

/** A token that was mailed to somebody to sign in with, usable once. */
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
}

/** An authenticator as lists have it. */
export interface ListedAuthenticator extends Authenticator, Times {}

/** A request that may come again, and how that is known. */
export interface RepeatableRequest {
  /** Whose key it is, within the tenant: no other owner ever gets the answer. */
  owner: string
  /** The key that the owner has chosen. */
  key: string
  /** The same text for equal requests, and for no others. */
  digest(): string
}

/** An application, or a group of them, whose data is its own. */
export interface Tenant {
  name: string
  created: Date
}

/** What a caller is let in by: a secret, or the certificate of its client. */
export interface ApiKey {
  /** The public part, which stands in logs. */
  id: string
  /** What people call it. */
  name: string
  tenant: string
  /** `users:read`, …; `all` stands for every scope. */
  scopes: string[]
  /** SHA-256 of the secret part; undefined if only a certificate will do. */
  secretHash?: Buffer | undefined
  /** A name in the certificate of a client, which may then come without the secret: `DNS:app.internal`. */
  certificateName?: string | undefined
  created: Date
  /** From then on it lets nobody in; undefined: no end. */
  expires?: Date | undefined
  revoked?: Date | undefined
}
