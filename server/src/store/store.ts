import type { Span } from "@opentelemetry/api"
import type { Turn } from "../util/turn-limit.js"
import type {
  AccessedSession,
  Account,
  AccountKey,
  ActiveWebhook,
  ApiKey,
  AuditEntry,
  AuditFilter,
  Authenticator,
  CachingProcess,
  CountFilter,
  Disabled,
  EventHead,
  EventHistory,
  EventPosition,
  Extra,
  KeptSessions,
  KeptTokens,
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
  SessionCountFilter,
  SessionExtension,
  SessionFilter,
  SessionMetadata,
  SessionPatch,
  SessionPolicy,
  SessionPolicyPatch,
  SigningKey,
  StoredEvent,
  Tenant,
  User,
  UserAccountKey,
  UserFilter,
  UserPatch,
  VerificationToken,
  VerificationTokenKey,
  Webhook,
  WebhookAttempts,
  WebhookDelivery,
  WebhookDeliveryKey,
  WebhookMessage,
  WebhookPatch,
} from "./types.js"

/**
 * The waiting side of a call: its abort signal and the context that its work runs in. The signal ends the wait for a
 * connection. It also ends a transaction between two of its statements, which rolls the transaction back. It does not
 * interrupt a statement that is running.
 */
export interface Waiter {
  readonly signal?: AbortSignal | undefined
  /**
   * The tenant whose call waits: none gets all connections to the database. Default: the service itself, whose work is bounded, also for
   * a tenant, such as the read of a policy for tokens. It does not wait behind the calls of that tenant.
   */
  readonly ofTenant?: string | undefined
  /** The recorded spans of the waiting calls. Statements are shown inside each of them. Default: none. */
  readonly spans?: readonly Span[] | undefined
}

/**
 * A transaction that `Store.once` or `AuditStore.together` has opened. It goes with the caller into the methods whose writes belong to it. Only the store that
 * opened it can make one and use one.
 */
export abstract class Transaction {
  /** Keeps other objects from being taken for a transaction. */
  protected abstract readonly isOpen: boolean
}

/** The caller on whose behalf the store works. */
export interface Caller extends Waiter {
  /** The open transaction that the writes belong to. Default: none, each write is committed by itself. */
  readonly transaction?: Transaction | undefined
  /**
   * The tenant whose data is read and written. The data of other tenants does not exist for the caller, in any method
   * or error.
   */
  readonly tenant: string
}

/**
 * The contract of every store, in these comments. test/support/store-contract runs it against every implementation.
 *
 * These rules hold for every method:
 * - A method is atomic, and nothing is returned unless it is committed. Every later read returns the values that were
 *   given.
 * - Keys (user id, provider, provider account id, session token, identifier, verification token, credential id) are
 *   compared byte for byte.
 * - A write that conflicts with other transactions is retried a bounded number of times. Then it throws CONFLICT, and
 *   nothing is written.
 * - Work that meets a lock of another transaction is retried until the caller's signal aborts. Without a signal it
 *   throws CONFLICT after a while.
 * - Every method may throw DATABASE_UNAVAILABLE or STATEMENT_TIMEOUT (in both cases it is unknown whether a write was
 *   done), QUEUE_FULL (nothing was done), and the reason of the signal. Other errors are named where they can occur.
 * - `null` means that the object does not exist, as reported by the database.
 *
 * Events: if the store is configured to keep events, a write adds an event in its own transaction. A call that writes
 * no row adds none. The deletion of expired rows and the update of a session's last use add none either.
 *
 * Pages: a list is read page by page, and a page by several statements, so it is not a snapshot of one moment. An item
 * that exists during the whole listing is on exactly one page. The cost of a page depends on its items and not on its
 * position. A page has at most `size` items and at most 100, and ends before their rows exceed 512 KiB, but except in filtered
 * lists it has at least one item if any is left. A token is valid for one list (of one tenant) with one filter, in every process that has the same
 * encryption key. Any other token throws INVALID_FIELD (`page_token`).
 */
export interface Store {
  readonly users: UserStore
  readonly accounts: AccountStore
  readonly tokenRefreshes: TokenRefreshStore
  readonly sessions: SessionStore
  readonly sessionPolicies: SessionPolicyStore
  readonly signals: SignalStore
  readonly verificationTokens: VerificationTokenStore
  readonly authenticators: AuthenticatorStore
  readonly tenants: TenantStore
  readonly apiKeys: ApiKeyStore
  readonly events: EventStore
  readonly audit: AuditStore
  readonly caches: CacheStore
  readonly leases: LeaseStore
  readonly signingKeys: SigningKeyStore
  readonly webhooks: WebhookStore
  readonly expired: ExpiredStore
  /**
   * Runs work that writes, and stores its answer. A later call with the same key and an equal request gets that answer,
   * from every process, for at least 24 hours. The answer is committed together with the writes of the work. Of several
   * calls at the same time one does the work, and all get its answer.
   *
   * The work calls one method that writes, and `signals.endTokens` perhaps after it, with a caller that has the transaction. It may run
   * more than once, but its writes
   * are committed at most once. If it throws, neither its writes nor an answer are stored, and the key is as it was
   * before.
   *
   * Throws what the work throws, IDEMPOTENCY_KEY_REUSED (the key was used for another request) and
   * ENCRYPTION_KEY_MISSING (no key decrypts the stored answer).
   */
  once(
    caller: Caller,
    request: RepeatableRequest,
    work: (transaction: Transaction) => Promise<Uint8Array>,
  ): Promise<Uint8Array>
  /**
   * Bypasses the queue and runs a write that changes nothing. Throws DATABASE_UNAVAILABLE if the database does not
   * answer in time, does not accept writes, or lacks a table. The message says which. Reads the database's clock, for
   * `now`.
   */
  ping(waiter: Waiter): Promise<void>
  /**
   * Returns the time of the database's clock, in milliseconds since 1970-01-01T00:00:00Z, as the pings have shown it,
   * without asking the database. It decides what has ended. Before the first ping it is the time of this process's clock.
   */
  now(): number
  /** Returns how far this process's clock is ahead of the database's, in milliseconds. Negative: it is behind. */
  clockOffsetMs(): number
  /**
   * Awaited before each large piece of work on what was read. Pieces in the store and beyond share the turns of the event loop, see
   * turnLimit. Tenants have their turns in turn.
   */
  turn: Turn<string>
  /** Closes all connections. Active work fails. May be called more than once. */
  close(): Promise<void>
}

export interface UserStore {
  /**
   * Creates a user. Throws USER_ALREADY_EXISTS, EMAIL_ALREADY_EXISTS, and INVALID_FIELD (`extra` over 65,536 bytes as
   * JSON). Two e-mail addresses are the same if they are equal after trimming ASCII white space and lower-casing ASCII
   * letters. An address that is blank after trimming is stored, but it identifies no user and never conflicts.
   *
   * A user created as `provisional` with an unverified address does not hold the address at first. This lasts for the
   * configured time (default: not at all) while nothing else has been written about the user. Any other user that is
   * created with the address replaces the provisional one, which is deleted in the same transaction. Nothing passes
   * from one to the other, not even the id, so a call with the old id finds no user.
   */
  create(caller: Caller, user: User, options?: { provisional: boolean }): Promise<User>
  get(caller: Caller, id: string): Promise<User | null>
  /** Returns the user as lists do. */
  getWithTimes(caller: Caller, id: string): Promise<ListedUser | null>
  /** Returns the user that holds the address. A provisional user does not hold it. */
  getByEmail(caller: Caller, email: string): Promise<User | null>
  getByAccount(caller: Caller, key: AccountKey): Promise<User | null>
  /**
   * Returns the private properties of a user, `{}` if it has none. Nothing else returns them, and no method changes them:
   * only an import writes them. Throws ENCRYPTION_KEY_MISSING.
   */
  getPrivateExtra(caller: Caller, id: string): Promise<Extra | null>
  /**
   * Returns the user as it is now. A cleared `email`, `name` or `image` reads back as null (see Extra). Throws
   * EMAIL_ALREADY_EXISTS and INVALID_FIELD (`extra`). May run its transaction more than once.
   *
   * With `etag`, throws STALE_ETAG unless it is the `userEtag` of the stored user: of concurrent calls with one etag that
   * change the user, one succeeds.
   *
   * With `revokeSessionsOnEmailChange`, the user's sessions are deleted in the same transaction if the address changes
   * or is removed. No session of the user is created meanwhile. If the user has thousands of sessions, most are deleted
   * before, in batches that are committed one by one, so a failed call may have deleted some.
   */
  update(
    caller: Caller,
    id: string,
    patch: UserPatch,
    options?: { revokeSessionsOnEmailChange?: boolean; etag?: string | undefined },
  ): Promise<(User & Revocation) | null>
  /**
   * Deletes the user with its accounts, sessions and authenticators in one transaction, and the verification tokens of its
   * address, of which at most 10,000. Returns the user as it was.
   * None of the three outlives the user, even if it is created at the same time. May run its transaction more than
   * once. If the user has more than 1,000 rows in a table, the rows are deleted later, by `ExpiredStore`. They exist for
   * no call meanwhile, and their keys are free, except the user's id.
   */
  delete(caller: Caller, id: string): Promise<User | null>
  /**
   * Disables the user, or changes the end and the reason of one that is disabled, which keeps the time since when. From the
   * commit on the user has no sessions for any call: its rows are deleted in the same transaction, and none is created. If
   * it has thousands, the user is disabled first, in a transaction of its own, and most are deleted in batches. Other calls
   * throw USER_DISABLED where they say so. At `until` the user is enabled without a write. Throws INVALID_FIELD
   * (`end_time`) if that is not in the future.
   */
  disable(caller: Caller, id: string, options: Omit<Disabled, "since">): Promise<(User & Revocation) | null>
  /** Enables the user, if it is disabled. */
  enable(caller: Caller, id: string): Promise<User | null>
  /**
   * Returns a page of users. See Pages. Users are in the order of creation, or of what a condition of the filter is about:
   * the compared form of the address or of the name, the id of the first account of the provider, the day, since when they
   * are disabled. Users that are equal by that are in the byte order of their ids. A page of a provider's users ends after
   * `size` accounts, and one with `disabled` after `size` users who may or may not be disabled, so it may have fewer users,
   * or none. Throws INVALID_FIELD for two conditions that no index serves together.
   *
   * A user is seen when a session of it is created, changed or read. The day of a read is recorded in the background, with the
   * session's last use: it is lost if the database does not accept that write.
   */
  list(caller: Caller, filter: UserFilter, page: PageRequest): Promise<Page<ListedUser>>
  /**
   * Returns the number of users that match the filter. Reads an index entry for each user in the time range, 5,000 at a
   * time. Users that are created or deleted meanwhile may be counted or not.
   */
  count(caller: Caller, filter: CountFilter): Promise<number>
  /**
   * Returns the users with these ids as lists do, in their order; null for an id that no user has. Ends before the users exceed
   * 512 KiB, but not before the first id.
   */
  getMany(caller: Caller, ids: readonly string[]): Promise<(ListedUser | null)[]>
}

export interface AccountStore {
  /**
   * Links an account. If the same user has it already, replaces the given fields and leaves the others unchanged
   * (`extra` is merged; a named property that is null in `extra` is cleared). `token_type` is stored in lower case.
   * Throws USER_NOT_FOUND, USER_DISABLED, ACCOUNT_LINKED_TO_ANOTHER_USER and INVALID_FIELD (`extra`, `authorization_details`: each at
   * most 65,536 bytes as JSON). With `etag`, throws STALE_ETAG unless it is the `accountEtag` of the stored account, also if
   * none is stored.
   */
  link(caller: Caller, account: Account, options?: { etag?: string | undefined }): Promise<Account>
  /**
   * Unlinks an account and returns it as it was. With `revokeSessions`, the existing sessions of its user are deleted
   * in the same transaction. A session that is created at the same time may remain. Thousands of sessions are deleted
   * like those of `UserStore.update`.
   */
  unlink(caller: Caller, key: AccountKey, options?: { revokeSessions: boolean }): Promise<(Account & Revocation) | null>
  get(caller: Caller, key: AccountKey): Promise<Account | null>
  /**
   * Returns a page of the user's accounts, in the byte order of `provider`, then `providerAccountId`; an empty page for
   * an unknown user. See Pages. Without `tokens`, `access_token`, `refresh_token` and `id_token` are undefined, `extra`
   * is empty, and nothing is decrypted.
   */
  listByUser(
    caller: Caller,
    userId: string,
    page: PageRequest,
    options: { tokens: boolean },
  ): Promise<Page<ListedAccount>>
}

/**
 * The tokens of accounts, and leases for refreshing them. Of all processes that use the database, only the holder of
 * the lease refreshes the tokens of an account. The clock is that of the database. A holder that is delayed beyond its
 * lease does no harm, because its result is stored only while the account still has the tokens that the refresh began
 * with.
 */
export interface TokenRefreshStore {
  /**
   * Throws USER_DISABLED, and INVALID_FIELD (`provider_account_id`) if no account is named and the user has several at the
   * provider.
   */
  get(caller: Caller, key: UserAccountKey): Promise<RefreshableAccount | null>
  /**
   * Acquires the lease for `lease.ms` milliseconds, or renews it for its holder. This requires that no other holder has
   * the lease, that the refresh token has not failed recently, and that the account still has the access token, refresh
   * token and expiry of `read`. Returns the current account, and whether the lease was acquired. Of any number of
   * concurrent calls one acquires it. `unreleasedMs` is set if it was acquired after the lease of another holder had
   * expired without being released: the time since then in milliseconds. The other holder may still have the provider's
   * answer and try to store it. Returns null if the user no longer has the account. Throws USER_DISABLED.
   */
  begin(
    caller: Caller,
    read: Account,
    lease: { holder: string; ms: number },
  ): Promise<(RefreshableAccount & { taken: boolean; unreleasedMs?: number | undefined }) | null>
  /** Releases the lease without a result, if the holder has it. */
  release(caller: Caller, account: Account, holder: string): Promise<void>
  /**
   * Stores the provider's answer to a refresh with `sent`, the account as it was when the lease was acquired, and
   * releases the lease. Returns the account as it is now. If the account was changed meanwhile, its tokens stay as they
   * are and differ from the given ones. One exception: if the refresh token is still the one sent and the provider has
   * replaced it, the answer is stored, because the stored refresh token is useless by then. Returns null if the user no
   * longer has the account.
   */
  complete(caller: Caller, sent: Account, holder: string, tokens: RefreshedTokens): Promise<Account | null>
  /**
   * Records for `ms` milliseconds that the refresh token of `sent` failed, and why (at most 64 bytes), and releases the
   * lease. Records nothing if the account has another refresh token by now or another holder has the lease.
   * `failed.kept` are tokens of an answer without a usable access token. They are stored while the account still has the
   * refresh token sent, and the failure is recorded for the refresh token that the account then has. Returns the current
   * account, or null if the user no longer has it.
   */
  fail(
    caller: Caller,
    sent: Account,
    holder: string,
    failed: { failure: string; ms: number; kept?: KeptTokens | undefined },
  ): Promise<Account | null>
}

/**
 * Sessions. The database stores only the SHA-256 of a token. A session is expired if `expires` is before the current
 * time. The policy of the tenant ends sessions as well: every method that returns a session returns the earlier `expires`
 * that follows from `maxAge`, and those that return no expired session return none that has been idle for too long, or
 * that `revokeAll` has ended.
 */
export interface SessionStore {
  /**
   * Returns the session with its `id`. Throws USER_NOT_FOUND, USER_DISABLED, SESSION_ALREADY_EXISTS and INVALID_FIELD
   * (`extra`). An `expires` in the past is accepted. If the policy has `maxSessions`, the user has at most that many
   * afterwards: the oldest are deleted, or it throws SESSION_LIMIT_REACHED, also among concurrent calls of any process. Of a
   * user with more than 1,000 sessions, ended ones too, the oldest are deleted before. May run its transaction twice. Throws
   * CONFLICT if the user has got more than 2,000 again meanwhile.
   */
  create(caller: Caller, session: Session, metadata?: SessionMetadata): Promise<Session>
  /**
   * Reads the session and its user in one statement. Returns null if the user is disabled. An expired session is deleted, unless it was extended meanwhile or
   * the database accepts no writes, and null is returned. The time of this use is written later, in a batch with others.
   * It is lost if the database does not accept that write.
   */
  getWithUser(caller: Caller, sessionToken: string): Promise<SessionAndUser | null>
  /**
   * Changes a session that exists and has not expired; never restores one. Throws USER_NOT_FOUND and USER_DISABLED (the new
   * user), and INVALID_FIELD (`extra`). May run its transaction more than once. A session that gets another user counts as
   * created for `maxSessions`.
   */
  update(caller: Caller, sessionToken: string, patch: SessionPatch): Promise<Session | null>
  /** Deletes the session and returns it as it was, expired or not. */
  delete(caller: Caller, sessionToken: string): Promise<Session | null>
  /**
   * Reads the session and its user as getWithUser does. Then sets the expiry to `maxAge` from now if an extension is
   * due, which is from `expires` - `maxAge` + `updateAge` on. Of any number of concurrent calls, on any number of
   * processes, one extends the session; the others return it as it is then. Never restores a session, never makes an
   * expiry earlier, and writes nothing if no extension is due. The session and its user are returned as they are after that.
   *
   * Not a part of `Store.once`: throws a TypeError if the caller has a transaction.
   */
  access(caller: Caller, sessionToken: string, extension: SessionExtension): Promise<AccessedSession | null>
  /**
   * Returns a page of sessions of a user or of all, the newest first, and in the reverse byte order of the ids within a
   * millisecond; an empty page for an unknown user. See Pages; in addition, a page of a list of all users or with `active` or
   * `provider` ends after 10,000 sessions were examined for it, with the items found so far, which may be none. Expired sessions
   * are listed until they are cleaned up. Throws INVALID_FIELD for two conditions that are not offered together.
   */
  list(caller: Caller, filter: SessionFilter, page: PageRequest): Promise<Page<ListedSession>>
  /**
   * Counts the sessions of the tenant. Ended ones count until they have expired and are cleaned up, unless `active` is given,
   * and those of a user who is being deleted until they are deleted.
   */
  count(caller: Caller, filter: SessionCountFilter): Promise<number>
  /** Returns the session with this id, expired or not. */
  get(caller: Caller, id: string): Promise<ListedSession | null>
  /**
   * Deletes the session with this id and returns it as it was. With `userId`, only if the session belongs to that user.
   */
  revoke(caller: Caller, id: string, userId?: string): Promise<ListedSession | null>
  /**
   * Deletes the sessions of a user, except those to keep. Returns their number. A session that is created at the same
   * time may remain. If the user has thousands of sessions, they are deleted in batches that are committed one by one,
   * even if the caller has a transaction, so a failed call may have deleted some.
   */
  revokeOfUser(caller: Caller, userId: string, kept: KeptSessions): Promise<number>
  /**
   * Deletes the sessions of several users, in the order of `userIds`, user by user: each is committed by itself, even if the
   * caller has a transaction. Stops early after many deletions, so that the caller asks again for the rest. Processes at
   * least one user.
   */
  revokeOfUsers(caller: Caller, userIds: readonly string[]): Promise<RevokedSessions>
  /**
   * Ends all sessions of the tenant, or those of a provider, that were created before a time. Default: before the next
   * millisecond. Writes one row: no later read finds such a session. Its row stays until it expires. Returns the time, which
   * is that of an earlier call if that is later. Throws INVALID_FIELD (`created_before`) for a time in the future.
   */
  revokeAll(caller: Caller, options: { createdBefore?: Date | undefined; provider?: string | undefined }): Promise<Date>
}

/** What is done when a provider states something about one of its sessions or accounts. */
export interface SignalStore {
  /**
   * Deletes the sessions that began with this session of the provider. Returns their number and their user, undefined if there
   * are none. More than a hundred are deleted in batches that are committed one by one, even if the caller has a transaction.
   */
  endProviderSession(
    caller: Caller,
    session: { provider: string; providerSessionId: string },
  ): Promise<{ userId: string | undefined; revokedSessions: number }>
  /**
   * Does what is asked for with the account of a user, and the sessions of that user that began at its provider. Returns null
   * if the account is linked to nobody. `sessions`: deletes them, thousands like those of `UserStore.update`. `tokens`: drops
   * all tokens of the account (`all`), or its refresh token unless it is for `offline_access` (`online`). Until it gets another
   * one, a refresh counts as refused by the provider.
   */
  revokeAccount(
    caller: Caller,
    key: AccountKey,
    options: { sessions: boolean; tokens: "all" | "online" | "none" },
  ): Promise<{ userId: string; revokedSessions: number } | null>
  /**
   * Ends the JWTs that come from a session of the provider, or from the user's sign-ins there until now. The mark is kept for 30 days,
   * or for the `maxAge` of the session policy if that is longer. Of a tenant with more than 100,000 marks the cleanup deletes the
   * oldest. In the caller's transaction it may follow another method that writes.
   */
  endTokens(
    caller: Caller,
    ended: { provider: string } & ({ providerSessionId: string } | { userId: string }),
  ): Promise<void>
  /** Returns the stored user of a JWT, and whether `endTokens` has ended the JWT. */
  holderOf(caller: Caller, token: TokenOrigin): Promise<{ user: User | null; isEnded: boolean }>
}

/** Where a JWT comes from, as far as it says. */
export interface TokenOrigin {
  readonly userId: string | undefined
  /** The provider of the sign-in. Undefined: it may be any. */
  readonly provider: string | undefined
  /** The session at that provider. */
  readonly providerSessionId: string | undefined
  /** When the user signed in, in milliseconds since 1970-01-01T00:00:00Z. NaN: it is not known, and taken for long ago. */
  readonly signedIn: number
}

/** The rules for the sessions of the caller's tenant. */
export interface SessionPolicyStore {
  /** Returns the policy; one without rules if the tenant has none. */
  get(caller: Caller): Promise<SessionPolicy>
  /**
   * Changes the policy and returns it. It applies to each session from its next read on. With `etag`, throws STALE_ETAG
   * unless it is the `sessionPolicyEtag` of the stored policy.
   */
  update(caller: Caller, patch: SessionPolicyPatch, options?: { etag?: string | undefined }): Promise<SessionPolicy>
}

export interface VerificationTokenStore {
  /** Throws VERIFICATION_TOKEN_ALREADY_EXISTS. */
  create(caller: Caller, token: VerificationToken): Promise<VerificationToken>
  /**
   * Deletes and returns the token. Of any number of concurrent calls, on any number of processes, exactly one gets it.
   * An expired token is returned as well.
   */
  use(caller: Caller, key: VerificationTokenKey): Promise<VerificationToken | null>
}

export interface AuthenticatorStore {
  /**
   * Throws USER_NOT_FOUND, USER_DISABLED, AUTHENTICATOR_ALREADY_EXISTS and INVALID_FIELD (`extra`; `user_id` if the authenticators of
   * the user would take more than 1 MiB).
   */
  create(caller: Caller, authenticator: Authenticator): Promise<Authenticator>
  get(caller: Caller, credentialID: string): Promise<Authenticator | null>
  /**
   * Returns all authenticators of a user, in the byte order of their credential ids; an empty array for an unknown
   * user.
   */
  listByUserId(caller: Caller, userId: string): Promise<ListedAuthenticator[]>
  /** Returns a page of these authenticators, in the same order. See Pages. */
  list(caller: Caller, userId: string, page: PageRequest): Promise<Page<ListedAuthenticator>>
  /**
   * Sets the name; undefined removes it. With `userId`, only if the authenticator belongs to that user; otherwise returns
   * null.
   */
  rename(
    caller: Caller,
    credentialID: string,
    displayName: string | undefined,
    userId?: string,
  ): Promise<Authenticator | null>
  /** Deletes the authenticator and returns it as it was. With `userId` as in `rename`. */
  delete(caller: Caller, credentialID: string, userId?: string): Promise<Authenticator | null>
  /**
   * Raises the counter, and sets `lastUsed`. An equal value succeeds. A lower one throws COUNTER_REGRESSION, also if a concurrent call has
   * raised the stored counter first. Returns the authenticator with the values of this call; null if there is none.
   */
  updateCounter(caller: Caller, credentialID: string, newCounter: number): Promise<Authenticator | null>
}

/**
 * The events of each tenant, in the order in which they were written, as far as that order could be observed. Tenants have nothing in
 * common: neither sequences nor a lock.
 */
export interface EventStore {
  /** Whether writes of this process add events. */
  readonly isEnabled: boolean
  /**
   * Assigns a sequence to each committed event of the tenant that has none yet, and returns where its events stand. So an event that was
   * committed before the call has the last sequence or a lower one, in every process. An event that commits later gets a
   * higher one, however long its transaction takes; an event that is rolled back gets none. Calls at the same time share the statement
   * that finds that there is nothing to do, also those for several tenants. Never throws CONFLICT because of concurrent calls of this
   * method. Throws TENANT_NOT_FOUND.
   */
  sequence(caller: Caller): Promise<EventHead>
  /**
   * Returns at most `limit` events of the tenant with a sequence greater than `after`, in order. No event with a lower sequence than a
   * returned one appears later.
   */
  read(caller: Caller, range: { after: number; limit: number }): Promise<StoredEvent[]>
  /**
   * Returns the range of the stored events of the tenant. A call after `read` shows whether events were cleaned up that `read` would
   * have returned. Throws TENANT_NOT_FOUND.
   */
  history(caller: Caller): Promise<EventHistory>
  /**
   * Creates a function that encodes positions as cursors for callers of the tenant. Only the store can create a cursor,
   * and a cursor reveals nothing.
   */
  sealer(caller: Caller): (position: EventPosition) => string
  /** Decodes a cursor of the tenant that any process has created. Throws INVALID_FIELD (`start_cursor`). */
  positionOf(caller: Caller, cursor: string): EventPosition
}

/** The audit entries of the caller's tenant. */
/** An entry of a tenant. */
export interface StoredAuditEntry {
  readonly tenant: string
  readonly entry: AuditEntry
}

export interface AuditStore {
  /**
   * Adds entries, of any tenants. Those of one tenant are added all or not at all.
   *
   * @returns The tenants whose entries were not added, each with the error. It throws if no tenant's entries were added.
   */
  add(waiter: Waiter, entries: readonly StoredAuditEntry[]): Promise<ReadonlyMap<string, unknown>>
  /**
   * Runs work that writes, and adds the entries that it returns. They are committed together with the writes of the work: in
   * the caller's transaction, or in one that is opened for it. The work is like that of `Store.once`. If it throws, no entry is
   * added.
   */
  together<T>(
    caller: Caller,
    work: (transaction: Transaction) => Promise<{ result: T; entries: readonly AuditEntry[] }>,
  ): Promise<T>
  /** Returns a page of entries, the newest first. See Pages. */
  list(caller: Caller, filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>>
}

/**
 * The processes that have clients of the caller's tenant which cache sessions in memory. The clock is that of the
 * database.
 */
export interface CacheStore {
  /**
   * Stores the row of a process for `ms` milliseconds. Of two calls for a process the one with the higher version wins,
   * in whatever order they are done. Returns false, and writes nothing, if a call with the same or a higher version was
   * done before.
   */
  keep(caller: Caller, row: CachingProcess & { version: number; ms: number }): Promise<boolean>
  /** Returns the rows that have not expired. */
  list(caller: Caller): Promise<CachingProcess[]>
}

/**
 * Leases: named tasks that one process at a time may do, of all that use the database. The clock is that of the
 * database.
 */
export interface LeaseStore {
  /**
   * Acquires a lease for `ms` milliseconds, or renews it for its holder. Returns false if another holder has it and it
   * has not expired. Of any number of concurrent calls one acquires it.
   */
  acquire(waiter: Waiter, lease: { name: string; holder: string; ms: number }): Promise<boolean>
  /** Releases the lease before it expires, if this holder has it. */
  release(waiter: Waiter, lease: { name: string; holder: string }): Promise<void>
}

/** The keys that sign who a user is, of all processes. They belong to no tenant. */
export interface SigningKeyStore {
  /** Returns all keys, in the order of their numbers. */
  list(waiter: Waiter): Promise<SigningKey[]>
  /** Stores a key. Returns false if the number is taken: another process has made that key. */
  add(waiter: Waiter, key: SigningKey & { privateKey: string }): Promise<boolean>
  remove(waiter: Waiter, numbers: readonly number[]): Promise<void>
  /** Seals the keys again that are not sealed with the first key of the store. Returns numbers of keys. */
  reseal(waiter: Waiter): Promise<{ seen: number; resealed: number; unreadable: number }>
}

/** The webhooks of the caller's tenant, and their deliveries. `null`: the tenant has no such webhook, or delivery. */
export interface WebhookStore {
  /**
   * Creates a webhook, for the events that are committed after the call has begun. Throws TENANT_NOT_FOUND and INVALID_FIELD (`name`:
   * the tenant has 20).
   */
  create(caller: Caller, webhook: Webhook, secret: string): Promise<Webhook>
  /** Returns the webhooks in the byte order of their ids. See Pages. */
  page(caller: Caller, page: PageRequest): Promise<Page<Webhook>>
  /**
   * Changes a webhook. One that was disabled, and is no longer, begins again with the deliveries that have failed. Disabling one that is
   * disabled changes nothing.
   */
  update(caller: Caller, id: string, patch: WebhookPatch): Promise<Webhook | null>
  /** Deletes a webhook and returns it as it was. Its deliveries exist for no call any more, and are deleted later. */
  delete(caller: Caller, id: string): Promise<Webhook | null>
  /** Sets the secret. The one before it stays as the previous one until a time. Throws ENCRYPTION_KEY_MISSING. */
  rotateSecret(caller: Caller, id: string, secrets: { secret: string; previousUntil: Date }): Promise<Webhook | null>
  /** Adds a test to the deliveries. */
  addTest(caller: Caller, id: string): Promise<WebhookDelivery | null>
  /** Returns a page of the deliveries of a webhook, the newest first. See Pages. */
  deliveries(
    caller: Caller,
    filter: { webhookId: string; pending?: boolean | undefined },
    page: PageRequest,
  ): Promise<Page<WebhookDelivery>>
  /** Makes a delivery pending, from now on and as if it had never been attempted. */
  redeliver(caller: Caller, key: WebhookDeliveryKey): Promise<WebhookDelivery | null>

  /** Returns the webhooks of all tenants that are enabled. */
  active(waiter: Waiter): Promise<ActiveWebhook[]>
  /** Returns the secrets that sign now, the newest first; none if there is no such webhook. Throws ENCRYPTION_KEY_MISSING. */
  secrets(caller: Caller, id: string): Promise<string[]>
  /**
   * Adds deliveries, and moves the position of the webhook from `after`. Returns false, and adds none, if it is elsewhere: another process
   * has added them.
   */
  add(
    caller: Caller,
    id: string,
    added: { after: number; position: number; messages: readonly WebhookMessage[] },
  ): Promise<boolean>
  /** Returns the first 1,000 deliveries that are pending and have numbers above `after`, in the order of their numbers. */
  pending(caller: Caller, id: string, after?: number): Promise<WebhookDelivery[]>
  /** Returns whether 100,000 deliveries are pending. Then none is to be added. */
  isFull(caller: Caller, id: string): Promise<boolean>
  /** Records an attempt. Has no effect on a delivery that has been deleted. */
  record(caller: Caller, key: WebhookDeliveryKey, attempts: WebhookAttempts): Promise<void>
}

/** The rows of all tenants that are no longer needed. */
export interface ExpiredStore {
  readonly tables: readonly ExpiredRows[]
  /** Returns the time of the database's clock. */
  now(waiter: Waiter): Promise<Date>
}

/**
 * The rows of one table that may be deleted once the time in their row has passed. Of `users` these are the rows that
 * deleted users have left in any table, whatever the time.
 */
export interface ExpiredRows {
  /** The name of the table in the database. */
  readonly table: string
  /** How long rows are kept after their time, in milliseconds; undefined: the operator decides. */
  readonly keepMs: number | undefined
  /**
   * Deletes the oldest rows whose time is at or after `from` and before `before`, at most `limit`, in one short
   * transaction. Skips rows that are locked by other transactions. Returns null if there are none. Of events, and of marks of ended JWTs
   * beyond their limit, a call deletes those of one tenant, perhaps none, and the one that follows the last tenant returns null.
   */
  deleteBatch(waiter: Waiter, span: { from: Date; before: Date; limit: number }): Promise<DeletedRows | null>
}

export interface DeletedRows {
  count: number
  /** The times of the oldest and of the newest deleted row. */
  first: Date
  last: Date
}

/** The applications that share the service. The tenant `default` always exists. */
export interface TenantStore {
  /** Throws TENANT_ALREADY_EXISTS. */
  create(waiter: Waiter, tenant: Tenant): Promise<Tenant>
  /**
   * Creates a tenant and its first key, or neither. Throws TENANT_ALREADY_EXISTS, INVALID_FIELD (`name`: there are 1,000
   * tenants), and API_KEY_ALREADY_EXISTS.
   */
  createWithKey(
    caller: Caller,
    tenant: Tenant,
    key: Omit<ApiKey, "tenant" | "created" | "revoked">,
  ): Promise<{ tenant: Tenant; key: ApiKey }>
  /** Returns all tenants, those that are being deleted too, ordered by name. */
  list(waiter: Waiter): Promise<Tenant[]>
  /** Returns the tenants that are not being deleted in the byte order of their names. See Pages. */
  page(caller: Caller, page: PageRequest): Promise<Page<Tenant>>
  /** Returns the number of rows of the tenant in each table. */
  count(waiter: Waiter, name: string): Promise<TenantRows[]>
  /**
   * Begins the deletion of a tenant: from its return on, every call fails that would create a user or anything else of it, with
   * TENANT_NOT_FOUND, on every replica; only what belongs to a user can still be created, as long as the user exists. Its name stays
   * taken. Has no effect if it is being deleted already. Returns false if there is no such tenant.
   */
  mark(waiter: Waiter, tenant: Required<Pick<Tenant, "name" | "deleted">>): Promise<boolean>
  /**
   * Deletes at most `limit` rows of a marked tenant in one transaction: its data, then its API keys, its events, and the tenant
   * itself last, if nothing else is left. Returns null if it is gone, or was not marked. A count of 0 means that another call has got in
   * between.
   */
  deleteBatch(waiter: Waiter, name: string, limit: number): Promise<TenantRows | null>
  /** Runs work that writes elsewhere, while the tenant cannot be marked. Returns undefined, without running it, if there is none. */
  whilePresent<T>(waiter: Waiter, name: string, work: () => Promise<T>): Promise<T | undefined>
}

export interface TenantRows {
  /** The name of the table in the database. */
  table: string
  count: number
}

/** The API keys that authenticate callers. The database stores only the SHA-256 of a key's secret. */
export interface ApiKeyStore {
  /**
   * Throws TENANT_NOT_FOUND and API_KEY_ALREADY_EXISTS.
   *
   * @param options.isLimited Whether the tenant can have 1,000 keys. Then a key that was revoked more than a minute ago is
   *   deleted, and INVALID_FIELD (`name`) thrown if there is none; also INVALID_FIELD (`expire_time`) if the key has expired
   *   already. Default: false.
   */
  create(waiter: Waiter, key: ApiKey, options?: { isLimited?: boolean }): Promise<ApiKey>
  /** Returns null also for a key that cannot be read. */
  get(waiter: Waiter, id: string): Promise<ApiKey | null>
  /** Returns the keys of all tenants, the oldest first. */
  list(waiter: Waiter): Promise<ApiKey[]>
  /** Returns the keys of the caller's tenant, those that have expired or were revoked too, in the byte order of their ids. See Pages. */
  page(caller: Caller, page: PageRequest): Promise<Page<ApiKey>>
  /**
   * Returns the keys that are neither revoked nor expired at `at`, in the order of their ids, one page at a time. Expired
   * keys with a certificate name are returned too, because that name stays theirs until they are revoked. Bypasses the
   * queue of the calls. Callers run one call at a time, because one connection is reserved for it.
   *
   * @param after the `next` of the previous page.
   * @returns `next`: the id after which the next page begins; undefined on the last page.
   */
  listValid(waiter: Waiter, at: Date, after?: string): Promise<{ keys: ApiKey[]; next: string | undefined }>
  /**
   * Returns what has changed since an earlier call, and perhaps some older changes again, like `listValid`. A key that was
   * deleted is not among them.
   *
   * @param since `until` of the earlier call; undefined: returns no changes.
   * @returns the ids with their keys; undefined for a key that was revoked or cannot be read.
   */
  listChanges(
    waiter: Waiter,
    since: Date | undefined,
  ): Promise<{ changes: { id: string; key: ApiKey | undefined }[]; until: Date }>
  /**
   * Revokes the key and returns it as it is now. A key that is already revoked keeps its date.
   *
   * @param tenant The tenant of the key: null is returned for a key of another one. Without it, keys of all tenants are meant.
   */
  revoke(waiter: Waiter, id: string, at: Date, tenant?: string): Promise<ApiKey | null>
}
