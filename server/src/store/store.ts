import type { Span } from "@opentelemetry/api"
import type {
  AccessedSession,
  Account,
  AccountKey,
  ApiKey,
  Authenticator,
  CachingProcess,
  EventHistory,
  EventPosition,
  KeptSessions,
  ListedAccount,
  ListedAuthenticator,
  ListedSession,
  ListedUser,
  Page,
  PageRequest,
  RefreshableAccount,
  RefreshedTokens,
  RepeatableRequest,
  Revocation,
  RevokedSessions,
  Session,
  SessionAndUser,
  SessionExtension,
  SessionFilter,
  SessionOrigin,
  SessionPatch,
  StoredEvent,
  Tenant,
  User,
  UserAccountKey,
  UserFilter,
  UserPatch,
  VerificationToken,
  VerificationTokenKey,
} from "./types.js"

/**
 * Who waits for the store. The signal ends the wait for a connection, and a transaction between two of its statements
 * (it is rolled back); a statement active is not interrupted.
 */
export interface Waiter {
  readonly signal?: AbortSignal | undefined
  /** Told of every wait for a lock that somebody else holds: meanwhile nobody works for the call. Returns the promise's outcome. */
  readonly aside?: (<T>(waited: Promise<T>) => Promise<T>) | undefined
  /** What its writes are part of, as Store.once gives it; undefined: they are committed by themselves. */
  readonly unit?: object | undefined
  /** The spans of the calls that wait, as far as they are recorded: the statements are shown inside of each. Default: none. */
  readonly spans?: readonly Span[] | undefined
}

/** On whose behalf the store works. */
export interface Caller extends Waiter {
  /** Whose data it is about. What other tenants have is not there for the caller, in no method and no error. */
  readonly tenant: string
}

/**
 * Where everything is kept. These comments are the contract; store/conformance.ts runs it against every implementation.
 *
 * Of every method: it is atomic. What it was given is what every later read returns. Keys (user id, provider, provider
 * account id, session token, identifier, verification token, credential id) are compared byte for byte. Nothing is
 * returned unless it is committed. A write that conflicts with others is tried again a bounded number of times and then
 * throws CONFLICT, with nothing written. What meets a lock that another transaction holds is tried again until the
 * caller's signal aborts; where there is none it throws CONFLICT after a while. Every method may throw
 * DATABASE_UNAVAILABLE (whether a write was done is then unknown), STATEMENT_TIMEOUT (likewise), QUEUE_FULL (nothing was
 * done) and the signal's reason; the other reasons are named where they can occur. "Null" means: there is no such thing,
 * and the database said so.
 *
 * Events: a write adds an event of what it has written, in its own transaction, where the store is told to keep events. One
 * that writes nothing adds none, and neither does what is deleted because it has expired, or that a session was seen.
 *
 * Pages: a list is read page by page, and a page in several statements, not at one moment. What is there throughout is on
 * exactly one page. A page costs as much as what is on it, wherever it begins. It has `size` items at the most, and ends
 * before their rows take more than 512 KiB, but has one item where there is any. A token holds for one list of one tenant
 * with one filter, in every process that has the same encryption key; what is not such a token throws INVALID_FIELD
 * (`page_token`).
 */
export interface Store {
  readonly users: UserStore
  readonly accounts: AccountStore
  readonly tokenRefreshes: TokenRefreshStore
  readonly sessions: SessionStore
  readonly verificationTokens: VerificationTokenStore
  readonly authenticators: AuthenticatorStore
  readonly tenants: TenantStore
  readonly apiKeys: ApiKeyStore
  readonly events: EventStore
  readonly caches: CacheStore
  readonly leases: LeaseStore
  readonly expired: ExpiredStore
  /**
   * Does work that writes, and keeps its answer: whoever comes again with the same key and an equal request gets that
   * answer, from every process, for 24 hours at least. The answer is committed together with what the work writes. Of
   * those that come at the same time one is done, and all get its answer.
   *
   * The work calls one method that writes, with a caller that has the unit. It may run more than once, but what it wrote
   * is committed at the most once. When it throws, nothing is written and nothing kept: the key is as it was before.
   *
   * Throws what the work throws, IDEMPOTENCY_KEY_REUSED (the key was used for another request) and
   * ENCRYPTION_KEY_MISSING (no key opens the answer that is kept).
   */
  once(caller: Caller, request: RepeatableRequest, work: (unit: object) => Promise<Uint8Array>): Promise<Uint8Array>
  /**
   * Asks the database, past the queue, to write something that changes nothing. Throws DATABASE_UNAVAILABLE when there is no
   * answer in time, and when the database takes no writes: the message says which.
   */
  ping(waiter: Waiter): Promise<void>
  /** Closes all connections. Work that is active fails. May be called more than once. */
  close(): Promise<void>
}

export interface UserStore {
  /**
   * Throws USER_ALREADY_EXISTS, EMAIL_ALREADY_EXISTS, and INVALID_FIELD (`extra` over 65,536 bytes as JSON). Two e-mail
   * addresses are the same when they are equal after trimming ASCII white space and lower-casing ASCII letters; one that
   * is blank after trimming is kept, belongs to nobody and never conflicts.
   *
   * A user who is created `provisional`, with an address that is not verified, does not hold it until the sign-up has come
   * further: for as long as the store is told (not at all by default), while nothing else has been written about the user.
   * Any other user who is created with the address takes its place. The provisional one is then deleted in the same
   * transaction, and nothing of it passes to the other, not even the id: whoever goes on with that finds no user.
   */
  create(caller: Caller, user: User, options?: { provisional: boolean }): Promise<User>
  get(caller: Caller, id: string): Promise<User | null>
  /** The user who has the address. A provisional one does not. */
  getByEmail(caller: Caller, email: string): Promise<User | null>
  getByAccount(caller: Caller, key: AccountKey): Promise<User | null>
  /**
   * Returns the user as it is now. A cleared `email`, `name` or `image` reads back as null (see Extra). Throws
   * EMAIL_ALREADY_EXISTS and INVALID_FIELD (`extra`). May run its transaction more than once.
   *
   * With `revokeSessionsOnEmailChange`, the user's sessions are deleted in the same transaction if the address is another
   * one then, or none; none is created meanwhile.
   */
  update(
    caller: Caller,
    id: string,
    patch: UserPatch,
    options?: { revokeSessionsOnEmailChange: boolean },
  ): Promise<(User & Revocation) | null>
  /**
   * Deletes the user with its accounts, sessions and authenticators in one transaction; returns the user as it was.
   * None of the three outlives the user, whatever is created at the same time. May run its transaction more than once.
   */
  delete(caller: Caller, id: string): Promise<User | null>
  /** A page of users in the order of their creation; those of the same millisecond in the byte order of their ids. See Pages. */
  list(caller: Caller, filter: UserFilter, page: PageRequest): Promise<Page<ListedUser>>
  /** How many users the filter lets through. Reads an index entry for each whom its times let through, and no rows. */
  count(caller: Caller, filter: UserFilter): Promise<number>
}

export interface AccountStore {
  /**
   * Links an account, or, where the same user has it already, replaces the fields given and leaves the others alone
   * (`extra` is merged; a named property that is null in `extra` is cleared). `token_type` is kept in lower case. Throws
   * USER_NOT_FOUND, ACCOUNT_LINKED_TO_ANOTHER_USER and INVALID_FIELD (`extra`, `authorization_details`: each at most
   * 65,536 bytes as JSON).
   */
  link(caller: Caller, account: Account): Promise<Account>
  /**
   * Returns the account as it was. With `revokeSessions`, the sessions that its user has are deleted in the same transaction; one
   * that is created at the same time may stay.
   */
  unlink(caller: Caller, key: AccountKey, options?: { revokeSessions: boolean }): Promise<(Account & Revocation) | null>
  get(caller: Caller, key: AccountKey): Promise<Account | null>
  /**
   * A page of a user's, in the byte order of `provider`, then `providerAccountId`; none for an unknown user. See Pages.
   * Without tokens, `access_token`, `refresh_token` and `id_token` are undefined and `extra` is empty, and nothing is
   * decrypted.
   */
  listByUser(
    caller: Caller,
    userId: string,
    page: PageRequest,
    options: { tokens: boolean },
  ): Promise<Page<ListedAccount>>
}

/**
 * The tokens of accounts, and who refreshes them: one at a time of all that use the database, while the lease lasts that this
 * one has. The clock is that of the database. A holder that was held up past its lease does no harm: what it brings is only
 * stored while the account has the tokens that it began with.
 */
export interface TokenRefreshStore {
  /** Throws INVALID_FIELD (`provider_account_id`) when no account is named and the user has several at the provider. */
  get(caller: Caller, key: UserAccountKey): Promise<RefreshableAccount | null>
  /**
   * Takes the lease for so many milliseconds, or anew for who has it, if nobody else has it, the refresh token has not failed
   * lately, and the account has the access token, the refresh token and the expiry that it had when it was read. Returns the
   * account as it is, and whether the lease was taken. Of any number who ask at the same time one gets it. Null: the user has
   * no such account any more.
   */
  begin(
    caller: Caller,
    read: Account,
    lease: { holder: string; ms: number },
  ): Promise<(RefreshableAccount & { taken: boolean }) | null>
  /**
   * Stores what the provider answered for `sent`, the account as it was when the lease was taken, and gives the lease back.
   * Returns the account as it is now, which has other tokens than those given where somebody else has changed it meanwhile:
   * they stay. One exception: where the refresh token is still the one that was sent, and the provider has replaced it, what
   * it answered is stored, because the one that is there is of no use any more. Null: the user has no such account any more.
   */
  complete(caller: Caller, sent: Account, holder: string, tokens: RefreshedTokens): Promise<Account | null>
  /**
   * Remembers that the refresh token of `sent` failed and why (64 bytes at the most), for so many milliseconds, and gives the
   * lease back. Remembers nothing where the account has another refresh token by now, or somebody else has the lease. Returns
   * the account as it is; null: the user has no such account any more.
   */
  fail(caller: Caller, sent: Account, holder: string, failed: { failure: string; ms: number }): Promise<Account | null>
}

/** Sessions. The database holds only the SHA-256 of a token. A session is expired once `expires` lies before the clock. */
export interface SessionStore {
  /**
   * Returns the session with its `id`. Throws USER_NOT_FOUND, SESSION_ALREADY_EXISTS and INVALID_FIELD (`extra`). An
   * `expires` in the past is kept too.
   */
  create(caller: Caller, session: Session, origin?: SessionOrigin): Promise<Session>
  /**
   * Reads both in one statement. An expired session is removed, unless it was extended meanwhile, and null returned. That
   * the session was seen is written later, together with others; while the database does not take it, it is forgotten.
   */
  getWithUser(caller: Caller, sessionToken: string): Promise<SessionAndUser | null>
  /**
   * Changes a session that exists and has not expired; never brings one back. Throws USER_NOT_FOUND (the new user) and
   * INVALID_FIELD (`extra`). May run its transaction more than once.
   */
  update(caller: Caller, sessionToken: string, patch: SessionPatch): Promise<Session | null>
  /** Returns the session as it was, expired or not. */
  delete(caller: Caller, sessionToken: string): Promise<Session | null>
  /**
   * Reads both as getWithUser does, and then lets the session expire `maxAge` from now if that is due: from `expires` -
   * `maxAge` + `updateAge` on. Of any number of concurrent calls, on any number of processes, one extends it; the others
   * return it as it is then. Never brings a session back, never makes an expiry earlier, and writes nothing when nothing is
   * due. The user who is returned is the one whose session was extended.
   */
  access(caller: Caller, sessionToken: string, extension: SessionExtension): Promise<AccessedSession | null>
  /**
   * A page of a user's, those created last first; of the same millisecond in the reverse byte order of their ids. None for an
   * unknown user. See Pages; a page may also cost as much as those that the filter leaves out. Expired ones are there until
   * they are cleaned away.
   */
  list(caller: Caller, filter: SessionFilter, page: PageRequest): Promise<Page<ListedSession>>
  /** The session with an id, expired or not. */
  get(caller: Caller, id: string): Promise<ListedSession | null>
  /** Deletes the session with an id, if it is of the user who is given, and returns it as it was. */
  revoke(caller: Caller, id: string, userId?: string): Promise<ListedSession | null>
  /**
   * Deletes the sessions that a user has, but for those to keep. Returns how many. One that is created at the same time may stay.
   * Of a user with thousands some are deleted at a time, each time committed by itself: when it fails, it has deleted some.
   */
  revokeOfUser(caller: Caller, userId: string, kept: KeptSessions): Promise<number>
  /**
   * Deletes the sessions of users, in the order of their ids here: of some users at a time, each time committed by itself. Ends
   * once so many sessions are deleted that the caller had better ask again. At least one user is processed.
   */
  revokeOfUsers(caller: Caller, userIds: readonly string[]): Promise<RevokedSessions>
}

export interface VerificationTokenStore {
  /** Throws VERIFICATION_TOKEN_ALREADY_EXISTS. */
  create(caller: Caller, token: VerificationToken): Promise<VerificationToken>
  /**
   * Deletes and returns the token. Of any number of concurrent calls, on any number of processes, exactly one gets it.
   * An expired one is returned as well.
   */
  use(caller: Caller, key: VerificationTokenKey): Promise<VerificationToken | null>
}

export interface AuthenticatorStore {
  /** Throws USER_NOT_FOUND, AUTHENTICATOR_ALREADY_EXISTS and INVALID_FIELD (`extra`). */
  create(caller: Caller, authenticator: Authenticator): Promise<Authenticator>
  get(caller: Caller, credentialID: string): Promise<Authenticator | null>
  /** All of a user's, in the byte order of their credential ids; none for an unknown user. */
  listByUserId(caller: Caller, userId: string): Promise<ListedAuthenticator[]>
  /**
   * Raises the counter. The same value succeeds; a lower one throws COUNTER_REGRESSION, also when it loses a race.
   */
  updateCounter(caller: Caller, credentialID: string, newCounter: number): Promise<Authenticator | null>
}

/** What was written, of all tenants: the order in which it was, as far as one could tell. */
export interface EventStore {
  /** Whether writes add events, in this process. */
  readonly areKept: boolean
  /**
   * Gives a sequence to each event that is committed and has none yet, and returns the last one then. So an event that was
   * committed before the call has that sequence or a lower one, in every process. What commits later gets a higher one,
   * however long its transaction takes; what is rolled back gets none. Never throws CONFLICT for the sake of others who do the
   * same at the same time.
   */
  sequence(waiter: Waiter): Promise<number>
  /**
   * Events with a sequence greater than `after`, in their order, `limit` at the most. Those with lower sequences have all
   * been there. Of one tenant, or of all.
   */
  read(waiter: Waiter, range: { after: number; limit: number; tenant?: string | undefined }): Promise<StoredEvent[]>
  /** The highest sequence of an event of the tenant; null where none of its events is kept that has one. */
  last(caller: Caller): Promise<number | null>
  /** What there is to read. Asked after `read`, it tells whether that left out what was cleaned away. */
  history(waiter: Waiter): Promise<EventHistory>
  /** Makes a function that writes positions as text, for callers of the tenant: what others cannot make, and learn nothing by. */
  sealer(caller: Caller): (position: EventPosition) => string
  /** Reads what such a function has made for the tenant, in any process. Throws INVALID_FIELD (`start_cursor`). */
  positionOf(caller: Caller, cursor: string): EventPosition
}

/** Which processes have clients of the caller's tenant that keep sessions in memory. The clock is that of the database. */
export interface CacheStore {
  /**
   * Says it of a process, for so many milliseconds. Of two calls for a process the one with the higher version counts, in
   * whatever order they are done. False where one with a higher version has been done before: nothing was written then.
   */
  keep(caller: Caller, row: CachingProcess & { version: number; ms: number }): Promise<boolean>
  /** All of which it was said, and whose time has not run out. */
  list(caller: Caller): Promise<CachingProcess[]>
}

/** What one process at a time does, of all that use the database. The clock is that of the database. */
export interface LeaseStore {
  /**
   * Takes a lease, or renews it for whoever holds it, for so many milliseconds. False where somebody else holds it, whose
   * time has not run out. Of any number who ask at the same time one gets it.
   */
  acquire(waiter: Waiter, lease: { name: string; holder: string; ms: number }): Promise<boolean>
  /** Gives it back before its time, if this holder has it. */
  release(waiter: Waiter, lease: { name: string; holder: string }): Promise<void>
}

/** What nobody asks for any more, of all tenants. */
export interface ExpiredStore {
  readonly tables: readonly ExpiredRows[]
  /** The clock of the database. */
  now(waiter: Waiter): Promise<Date>
}

/** The rows of one table that may go once the time that stands in them has passed. */
export interface ExpiredRows {
  /** As the database names it. */
  readonly table: string
  /** How long rows are kept after their time, in milliseconds; undefined: that is for the operator to say. */
  readonly keepMs: number | undefined
  /**
   * Deletes the oldest of the rows whose time lies from one moment on and before another, `limit` at the most, in one short
   * transaction. Rows that somebody else has locked are passed over. Null if there are none.
   */
  deleteBatch(waiter: Waiter, span: { from: Date; before: Date; limit: number }): Promise<DeletedRows | null>
}

export interface DeletedRows {
  count: number
  /** The time of the oldest and of the youngest. */
  first: Date
  last: Date
}

/** The applications that share the service. `default` is there from the beginning. */
export interface TenantStore {
  /** Throws TENANT_ALREADY_EXISTS. */
  create(waiter: Waiter, tenant: Tenant): Promise<Tenant>
  /** All, by name. */
  list(waiter: Waiter): Promise<Tenant[]>
}

/** The keys that callers are let in by. The database holds only the SHA-256 of a key's secret. */
export interface ApiKeyStore {
  /** Throws TENANT_NOT_FOUND and API_KEY_ALREADY_EXISTS. */
  create(waiter: Waiter, key: ApiKey): Promise<ApiKey>
  get(waiter: Waiter, id: string): Promise<ApiKey | null>
  /** All of all tenants, the oldest first. */
  list(waiter: Waiter): Promise<ApiKey[]>
  /** Those that are neither revoked nor expired at a moment, in no order. Does not wait in the queue: one at a time. */
  listValid(waiter: Waiter, at: Date): Promise<ApiKey[]>
  /** Returns the key as it is now. One that was revoked before keeps its date. */
  revoke(waiter: Waiter, id: string, at: Date): Promise<ApiKey | null>
}
