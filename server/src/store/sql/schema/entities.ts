import { EntitySchema } from "typeorm"
import type {
  Account,
  ApiKey,
  Authenticator,
  EventIds,
  EventKind,
  Session,
  SessionOrigin,
  Tenant,
  User,
  VerificationToken,
} from "../../types.js"
import { columnTypes, type Engine } from "./column-types.js"

/** The tenant of a row. Every key of these tables begins with it. Reads do not select it. */
interface Owned {
  tenant: string
}

/** When a row was inserted, which never changes, and when a call last wrote it. Only lists read these columns. */
interface Timed {
  created?: Date | undefined
  updated?: Date | undefined
}

/**
 * A row of `users`. `emailKey` is the normalized address for comparisons; it is unique within a tenant. For
 * `provisionalUntil` see provisional-users.ts.
 */
export interface UserRow extends User, Timed, Owned {
  emailKey?: string | undefined
  provisionalUntil?: Date | undefined
}

/** A row of `accounts`. Only token-refreshes.ts reads and changes the refresh columns. */
export interface AccountRow extends Account, Timed, Owned {
  refreshHolder?: string | undefined
  refreshUntil?: Date | undefined
  refreshFailure?: string | undefined
  refreshMark?: Buffer | undefined
}

/** The columns of an account's row that hold the state of its token refresh. */
export const refreshColumns = ["refreshHolder", "refreshUntil", "refreshFailure", "refreshMark"] as const

/**
 * A row of `sessions`, with the hash of the token in place of the token. The columns beyond the session itself never
 * change, except `lastSeen`. `created` is set when the row is inserted.
 */
export interface SessionRow extends Omit<Session, "sessionToken">, SessionOrigin, Owned {
  tokenHash: Buffer
  created?: Date | undefined
  lastSeen?: Date | undefined
}

/** A row of `verification_tokens`, with the hash of the token in place of the token. */
export interface VerificationTokenRow extends Omit<VerificationToken, "token">, Owned {
  tokenHash: Buffer
}

/** A row of `leases`. */
export interface LeaseRow {
  name: string
  holder: string
  until: Date
}

/** A row of `authenticators`. */
export interface AuthenticatorRow extends Authenticator, Timed, Owned {}

/** A row of `idempotency_keys`: the sealed answer of a write. */
export interface IdempotencyKeyRow extends Owned {
  keyHash: Buffer
  answer: string
  created: Date
}

/**
 * A row of `events`. The database generates the id. The sequence is assigned after the commit, when events are next
 * read.
 */
export interface EventRow extends EventIds {
  id?: number | undefined
  sequence?: number | undefined
  tenant: string
  kind: EventKind
  created: Date
}

/** The only row of `event_head`: the last sequence that was assigned, and the random id of the history. */
export interface EventHeadRow {
  name: string
  sequence: number
  history: string
}

/** A row of `caches`: what a process reports about its clients of a tenant that cache sessions. */
export interface CacheRow {
  tenant: string
  process: string
  version: number
  leaseMs: number
  confirmed: number
  expires: Date
}

export type Entities = ReturnType<typeof entities>

/**
 * Declares the tables for an engine. Columns are at least as wide as the limits of the schema (proto/authwire/v1). The
 * migrations create the same tables; a test compares the two.
 */
export function entities(engine: Engine) {
  const { key, hash, string, text, longText, json, time, timeOfInsert, handle, double, uint32, boolean, whole } =
    columnTypes(engine)
  const isInnoDb = engine === "mysql" || engine === "mariadb"
  /** The options of columns that are set when a session is created. */
  const ofOrigin = { nullable: true, select: false, update: false }
  const times = {
    created: { name: "created", select: false, ...timeOfInsert() },
    updated: { name: "updated", select: false, ...timeOfInsert(), update: true },
  } as const
  const ofRefresh = { nullable: true, select: false }
  const tenant = { name: "tenant", primary: true, select: false, ...key(63) } as const
  return {
    users: new EntitySchema<UserRow>({
      name: "User",
      tableName: "users",
      columns: {
        tenant,
        id: { name: "id", primary: true, ...key(255) },
        email: { name: "email", nullable: true, ...string(320) },
        emailKey: { name: "email_key", nullable: true, select: false, ...key(1280) },
        emailVerified: { name: "email_verified", nullable: true, ...time() },
        name: { name: "name", nullable: true, ...text() },
        image: { name: "image", nullable: true, ...longText() },
        extra: { name: "extra", ...json() },
        ...times,
        provisionalUntil: { name: "provisional_until", nullable: true, select: false, ...time() },
      },
      indices: [
        { name: "users_email_key", unique: true, columns: ["tenant", "emailKey"] },
        { name: "users_created", columns: ["tenant", "created", "id"] },
      ],
    }),

    accounts: new EntitySchema<AccountRow>({
      name: "Account",
      tableName: "accounts",
      columns: {
        tenant,
        provider: { name: "provider", primary: true, ...key(255) },
        providerAccountId: { name: "provider_account_id", primary: true, ...key(1400) },
        userId: { name: "user_id", ...key(255) },
        type: { name: "type", ...string(32) },
        access_token: { name: "access_token", nullable: true, ...longText() },
        token_type: { name: "token_type", nullable: true, ...string(255) },
        id_token: { name: "id_token", nullable: true, ...longText() },
        refresh_token: { name: "refresh_token", nullable: true, ...longText() },
        scope: { name: "scope", nullable: true, ...text() },
        expires_in: { name: "expires_in", nullable: true, ...double() },
        expires_at: { name: "expires_at", nullable: true, ...double() },
        authorization_details: { name: "authorization_details", nullable: true, ...json() },
        extra: { name: "extra", ...json() },
        ...times,
        refreshHolder: { name: "refresh_holder", ...ofRefresh, ...key(63) },
        refreshUntil: { name: "refresh_until", ...ofRefresh, ...time() },
        refreshFailure: { name: "refresh_failure", ...ofRefresh, ...key(64) },
        refreshMark: { name: "refresh_mark", ...ofRefresh, ...hash(32) },
      },
      // InnoDB appends the primary key to each index.
      indices: [
        {
          name: "accounts_user_id",
          columns: ["tenant", "userId", ...(isInnoDb ? [] : ["provider", "providerAccountId"])],
        },
      ],
      foreignKeys: [ofUser("accounts_user_id_fkey")],
    }),

    sessions: new EntitySchema<SessionRow>({
      name: "Session",
      tableName: "sessions",
      columns: {
        tenant,
        tokenHash: { name: "token_hash", primary: true, select: false, ...hash(32) },
        userId: { name: "user_id", ...key(255) },
        expires: { name: "expires", ...time() },
        extra: { name: "extra", ...json() },
        id: { name: "id", ...handle() },
        created: { name: "created", select: false, ...timeOfInsert() },
        lastSeen: { name: "last_seen", nullable: true, select: false, ...time() },
        ip: { name: "ip", ...ofOrigin, ...string(64) },
        userAgent: { name: "user_agent", ...ofOrigin, ...string(512) },
        authMethod: { name: "auth_method", ...ofOrigin, ...string(64) },
        provider: { name: "provider", ...ofOrigin, ...key(255) },
        impersonator: { name: "impersonator", ...ofOrigin, ...key(255) },
      },
      indices: [
        { name: "sessions_id", unique: true, columns: ["tenant", "id"] },
        { name: "sessions_user_id", columns: ["tenant", "userId", "created", "id"] },
        { name: "sessions_expires", columns: ["expires"] },
      ],
      foreignKeys: [ofUser("sessions_user_id_fkey")],
    }),

    verificationTokens: new EntitySchema<VerificationTokenRow>({
      name: "VerificationToken",
      tableName: "verification_tokens",
      columns: {
        tenant,
        identifier: { name: "identifier", primary: true, ...key(1280) },
        tokenHash: { name: "token_hash", primary: true, select: false, ...hash(32) },
        expires: { name: "expires", ...time() },
      },
      indices: [{ name: "verification_tokens_expires", columns: ["expires"] }],
    }),

    authenticators: new EntitySchema<AuthenticatorRow>({
      name: "Authenticator",
      tableName: "authenticators",
      columns: {
        tenant,
        credentialID: { name: "credential_id", primary: true, ...key(1400) },
        userId: { name: "user_id", ...key(255) },
        providerAccountId: { name: "provider_account_id", ...key(1400) },
        credentialPublicKey: { name: "credential_public_key", ...text() },
        counter: { name: "counter", ...uint32() },
        credentialDeviceType: { name: "credential_device_type", ...string(64) },
        credentialBackedUp: { name: "credential_backed_up", ...boolean() },
        transports: { name: "transports", nullable: true, ...text() },
        extra: { name: "extra", ...json() },
        ...times,
      },
      indices: [{ name: "authenticators_user_id", columns: ["tenant", "userId"] }],
      foreignKeys: [ofUser("authenticators_user_id_fkey")],
    }),

    idempotencyKeys: new EntitySchema<IdempotencyKeyRow>({
      name: "IdempotencyKey",
      tableName: "idempotency_keys",
      columns: {
        tenant,
        keyHash: { name: "key_hash", primary: true, select: false, ...hash(32) },
        answer: { name: "answer", ...longText() },
        created: { name: "created", ...time() },
      },
      indices: [{ name: "idempotency_keys_created", columns: ["created"] }],
    }),

    events: new EntitySchema<EventRow>({
      name: "Event",
      tableName: "events",
      columns: {
        id: { name: "id", primary: true, generated: "increment", ...whole() },
        sequence: { name: "sequence", nullable: true, ...whole() },
        tenant: { name: "tenant", ...key(63) },
        kind: { name: "kind", ...key(32) },
        userId: { name: "user_id", nullable: true, ...key(255) },
        sessionId: { name: "session_id", nullable: true, ...key(32) },
        provider: { name: "provider", nullable: true, ...key(255) },
        created: { name: "created", ...time() },
      },
      indices: [
        { name: "events_sequence", columns: ["sequence", ...(isInnoDb ? [] : ["id"])] },
        { name: "events_tenant", columns: ["tenant", "sequence"] },
      ],
    }),

    eventHead: new EntitySchema<EventHeadRow>({
      name: "EventHead",
      tableName: "event_head",
      columns: {
        name: { name: "name", primary: true, ...key(63) },
        sequence: { name: "sequence", ...whole() },
        history: { name: "history", ...key(32) },
      },
    }),

    caches: new EntitySchema<CacheRow>({
      name: "Cache",
      tableName: "caches",
      columns: {
        tenant,
        process: { name: "process", primary: true, ...key(63) },
        version: { name: "version", ...whole() },
        leaseMs: { name: "lease_ms", ...whole() },
        confirmed: { name: "confirmed", ...whole() },
        expires: { name: "expires", ...time() },
      },
      indices: [{ name: "caches_expires", columns: ["expires"] }],
    }),

    tenants: new EntitySchema<Tenant>({
      name: "Tenant",
      tableName: "tenants",
      columns: {
        name: { name: "name", primary: true, ...key(63) },
        created: { name: "created", ...time() },
      },
    }),

    apiKeys: new EntitySchema<ApiKey>({
      name: "ApiKey",
      tableName: "api_keys",
      columns: {
        id: { name: "id", primary: true, ...key(32) },
        name: { name: "name", ...string(255) },
        tenant: { name: "tenant", ...key(63) },
        scopes: { name: "scopes", ...json() },
        secretHash: { name: "secret_hash", nullable: true, ...hash(32) },
        certificateName: { name: "certificate_name", nullable: true, ...key(512) },
        created: { name: "created", ...time() },
        expires: { name: "expires", nullable: true, ...time() },
        revoked: { name: "revoked", nullable: true, ...time() },
      },
      indices: [{ name: "api_keys_tenant", columns: ["tenant"] }],
      foreignKeys: [
        {
          name: "api_keys_tenant_fkey",
          target: "Tenant",
          columnNames: ["tenant"],
          referencedColumnNames: ["name"],
        },
      ],
    }),

    leases: new EntitySchema<LeaseRow>({
      name: "Lease",
      tableName: "leases",
      columns: {
        name: { name: "name", primary: true, ...key(63) },
        holder: { name: "holder", ...key(63) },
        until: { name: "until", ...time() },
      },
    }),
  }
}

/**
 * Declares a foreign key to `users`. It does not cascade, because a replication group with several primaries rejects
 * cascading foreign keys. The deletion of a user deletes the dependent rows itself.
 */
function ofUser(name: string) {
  return { name, target: "User", columnNames: ["tenant", "userId"], referencedColumnNames: ["tenant", "id"] }
}
