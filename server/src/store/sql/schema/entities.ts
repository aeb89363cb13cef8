import { EntitySchema } from "typeorm"
import { isObject } from "../../../util/json.js"
import { type ColumnTypes, tenantColumn } from "./column-types.js"
import type {
  AccountRow,
  AuthenticatorRow,
  SessionPolicyRow,
  SessionRow,
  UserRow,
  VerificationTokenRow,
} from "./rows.js"
import { serviceEntities } from "./service-entities.js"

export type Entities = ReturnType<typeof entities>

/**
 * Declares the tables with the column types of an engine. Columns are at least as wide as the limits of the schema (proto/authwire/v1). The
 * migrations create the same tables; a test compares the two.
 */
export function entities(types: ColumnTypes) {
  const { key, hash, string, text, longText, json, time, timeOfInsert, handle, double, uint32, boolean, whole } = types
  /** The options of columns that are set when a session is created. */
  const ofMetadata = { nullable: true, select: false, update: false }
  const times = {
    created: { name: "created", select: false, ...timeOfInsert() },
    updated: { name: "updated", select: false, ...timeOfInsert(), update: true },
  } as const
  const ofRefresh = { nullable: true, select: false }
  const tenant = tenantColumn(types)
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
        nameKey: { name: "name_key", nullable: true, select: false, ...key(512) },
      },
      indices: [
        { name: "users_email_key", unique: true, columns: ["tenant", "emailKey"] },
        { name: "users_created", columns: ["tenant", "created", "id"] },
        { name: "users_deleted", columns: ["deleted"] },
        { name: "users_name_key", columns: ["tenant", "nameKey", "id"] },
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
        ip: { name: "ip", ...ofMetadata, ...string(64) },
        userAgent: { name: "user_agent", ...ofMetadata, ...string(512) },
        authMethod: { name: "auth_method", ...ofMetadata, ...string(64) },
        provider: { name: "provider", ...ofMetadata, ...key(255) },
        impersonator: { name: "impersonator", ...ofMetadata, ...key(255) },
        providerSessionId: { name: "provider_session_id", ...ofMetadata, ...key(255) },
      },
      indices: [
        { name: "sessions_id", unique: true, columns: ["tenant", "id"] },
        { name: "sessions_user_id", columns: ["tenant", "userId", "created", "id"] },
        { name: "sessions_expires", columns: ["expires"] },
        { name: "sessions_created", columns: ["tenant", "created", "id", "impersonator"] },
        { name: "sessions_ip", columns: ["tenant", "ip", "created", "id"] },
        { name: "sessions_provider_session_id", columns: ["tenant", "provider", "providerSessionId", "id"] },
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
      },
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

    ...serviceEntities(types),
  }
}

/** The further fields of an account are sealed as a whole: see sealed-accounts.ts. */
function isObjectOrSealed(value: unknown): boolean {
  return isObject(value) || typeof value === "string"
}

/**
 * Declares a foreign key to `users`. It does not cascade, because a replication group with several primaries rejects
 * cascading foreign keys. The deletion of a user deletes the dependent rows itself.
 */
function ofUser(name: string) {
  return { name, target: "User", columnNames: ["tenant", "userId"], referencedColumnNames: ["tenant", "id"] }
}
