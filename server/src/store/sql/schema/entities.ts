import { EntitySchema } from "typeorm"
import { isObject } from "../../../util/json.js"
import type { Tenant } from "../../types.js"
import { columnTypes, type Engine } from "./column-types.js"
import type {
  AccountRow,
  ApiKeyRow,
  AuditRow,
  AuthenticatorRow,
  CacheRow,
  EventHeadRow,
  EventRow,
  IdempotencyKeyRow,
  LeaseRow,
  SessionPolicyRow,
  SessionRow,
  UserRow,
  VerificationTokenRow,
} from "./rows.js"

export type Entities = ReturnType<typeof entities>

/**
 * Declares the tables for an engine. Columns are at least as wide as the limits of the schema (proto/authwire/v1). The
 * migrations create the same tables; a test compares the two.
 */
export function entities(engine: Engine) {
  const {
    key,
    hash,
    string,
    text,
    longText,
    json,
    time,
    timeOfInsert,
    timeOfChange,
    handle,
    double,
    uint32,
    boolean,
    whole,
  } = columnTypes(engine)
  /** The options of columns that are set when a session is created. */
  const ofOrigin = { nullable: true, select: false, update: false }
  const times = {
    created: { name: "created", select: false, ...timeOfInsert() },
    updated: { name: "updated", select: false, ...timeOfInsert(), update: true },
  } as const
  const ofRefresh = { nullable: true, select: false }
  const isServer = engine === "mysql" || engine === "mariadb"
  /** MySQL and MariaDB compute it (see name-key.ts). TypeORM would need a table of its own to know that. */
  const computed = { nullable: true, select: false, insert: false, update: false }
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
        extra: { name: "extra", ...json(isObject) },
        ...times,
        provisionalUntil: { name: "provisional_until", nullable: true, select: false, ...time() },
        privateExtra: { name: "private_extra", nullable: true, select: false, ...longText() },
        // TypeORM leaves out rows with this time from every SELECT and join.
        deleted: { name: "deleted", nullable: true, select: false, deleteDate: true, ...time() },
        disabledSince: { name: "disabled", nullable: true, select: false, ...time() },
        disabledUntil: { name: "disabled_until", nullable: true, select: false, ...time() },
        disabledReason: { name: "disabled_reason", nullable: true, select: false, ...text() },
        lastSeenDay: { name: "last_seen_day", nullable: true, select: false, ...time() },
        ...(isServer && { nameKey: { name: "name_key", ...computed, ...key(512) } }),
      },
      indices: [
        { name: "users_email_key", unique: true, columns: ["tenant", "emailKey"] },
        { name: "users_created", columns: ["tenant", "created", "id"] },
        { name: "users_deleted", columns: ["deleted"] },
        // The other engines index an expression, which entities cannot declare.
        { name: "users_name_key", columns: ["tenant", ...(isServer ? ["nameKey"] : []), "id"], synchronize: isServer },
        { name: "users_last_seen_day", columns: ["tenant", "lastSeenDay", "id"] },
        { name: "users_disabled", columns: ["tenant", "disabledSince", "id"] },
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
        extra: { name: "extra", ...json(isObjectOrSealed) },
        ...times,
        refreshHolder: { name: "refresh_holder", ...ofRefresh, ...key(63) },
        refreshUntil: { name: "refresh_until", ...ofRefresh, ...time() },
        refreshFailure: { name: "refresh_failure", ...ofRefresh, ...key(64) },
        refreshMark: { name: "refresh_mark", ...ofRefresh, ...hash(32) },
      },
      indices: [{ name: "accounts_user_id", columns: ["tenant", "userId", "provider", "providerAccountId"] }],
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
        extra: { name: "extra", ...json(isObject) },
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
        { name: "sessions_created", columns: ["tenant", "created", "id", "impersonator"] },
        { name: "sessions_ip", columns: ["tenant", "ip", "created", "id"] },
      ],
      foreignKeys: [ofUser("sessions_user_id_fkey")],
    }),

    sessionPolicies: new EntitySchema<SessionPolicyRow>({
      name: "SessionPolicy",
      tableName: "session_policies",
      columns: {
        tenant,
        provider: { name: "provider", primary: true, ...key(255) },
        maxAge: { name: "max_age", nullable: true, ...whole() },
        idleTimeout: { name: "idle_timeout", nullable: true, ...whole() },
        maxSessions: { name: "max_sessions", nullable: true, ...whole() },
        atLimit: { name: "at_limit", nullable: true, ...key(16) },
        revokedBefore: { name: "revoked_before", nullable: true, ...time() },
        revoking: { name: "revoking", nullable: true, ...time() },
      },
      indices: [{ name: "session_policies_revoking", columns: ["revoking"] }],
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
        extra: { name: "extra", ...json(isObject) },
        displayName: { name: "display_name", nullable: true, ...string(100) },
        lastUsed: { name: "last_used", nullable: true, ...time() },
        ...times,
      },
      indices: [{ name: "authenticators_user_id", columns: ["tenant", "userId", "credentialID"] }],
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
        { name: "events_sequence", columns: ["sequence", "id"] },
        { name: "events_tenant", columns: ["tenant", "sequence"] },
      ],
    }),

    auditEntries: new EntitySchema<AuditRow>({
      name: "AuditEntry",
      tableName: "audit_entries",
      columns: {
        id: { name: "id", primary: true, generated: "increment", ...whole() },
        tenant: { name: "tenant", ...key(63) },
        created: { name: "created", ...time() },
        method: { name: "method", ...key(128) },
        keyId: { name: "key_id", nullable: true, ...key(63) },
        subject: { name: "subject", nullable: true, ...key(128) },
        details: { name: "details", ...json(isObject) },
      },
      indices: [
        { name: "audit_entries_created", columns: ["created"] },
        { name: "audit_entries_tenant", columns: ["tenant", "created", "id"] },
        { name: "audit_entries_subject", columns: ["tenant", "subject", "created", "id"] },
        { name: "audit_entries_key", columns: ["tenant", "keyId", "created", "id"] },
        { name: "audit_entries_method", columns: ["tenant", "method", "created", "id"] },
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

    apiKeys: new EntitySchema<ApiKeyRow>({
      name: "ApiKey",
      tableName: "api_keys",
      columns: {
        id: { name: "id", primary: true, ...key(32) },
        name: { name: "name", ...string(255) },
        tenant: { name: "tenant", ...key(63) },
        scopes: { name: "scopes", ...json(isListOfTexts) },
        secretHash: { name: "secret_hash", nullable: true, ...hash(32) },
        certificateName: { name: "certificate_name", nullable: true, ...key(512) },
        created: { name: "created", ...time() },
        expires: { name: "expires", nullable: true, ...time() },
        revoked: { name: "revoked", nullable: true, ...time() },
        changed: { name: "changed", select: false, ...timeOfChange() },
      },
      indices: [
        { name: "api_keys_list", columns: ["tenant", "id"] },
        { name: "api_keys_changed", columns: ["changed", "id"] },
      ],
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

/** The further fields of an account are sealed as a whole: see sealed-accounts.ts. */
function isObjectOrSealed(value: unknown): boolean {
  return isObject(value) || typeof value === "string"
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string")
}

/**
 * Declares a foreign key to `users`. It does not cascade, because a replication group with several primaries rejects
 * cascading foreign keys. The deletion of a user deletes the dependent rows itself.
 */
function ofUser(name: string) {
  return { name, target: "User", columnNames: ["tenant", "userId"], referencedColumnNames: ["tenant", "id"] }
}
