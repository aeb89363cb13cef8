import type { ObjectLiteral } from "typeorm"
import type { Tables } from "../schema/tables.js"

export type TableName = keyof Tables

/** The type of the rows of a table. */
export type RowIn<Name extends TableName> = ReturnType<Tables[Name]["row"]>

/** The order in which a statement reads rows along an index: it examines no others, and sorts none. */
export interface Walk<Row> {
  readonly index: string
  /** The first columns of the index. The rows of a walk have the same values in them. */
  readonly equal: readonly (keyof Row & string)[]
  /** The columns that follow in the index, by which the rows are ordered. */
  readonly order: readonly (keyof Row & string)[]
  /**
   * What a position in the walk consists of. Default: the order. One with a further column, which the index does not have, can stand
   * before a row that has the same value.
   */
  readonly position?: readonly (keyof Row & string)[]
}

/** A walk of a table. */
export interface WalkOf<Name extends TableName> extends Walk<RowIn<Name>> {
  readonly table: Name
}

/** A walk of some table. */
export interface AnyWalk extends Walk<ObjectLiteral> {
  readonly table: TableName
}

type Column<Name extends TableName> = keyof RowIn<Name> & string

const walk = <Name extends TableName>(
  table: Name,
  index: string,
  equal: readonly Column<Name>[],
  order: readonly Column<Name>[],
  position = order,
): WalkOf<Name> => ({ table, index, equal, order, position })

/**
 * Every walk of a list, a count, the audit, the events and the cleanup. The suite of plans asks each engine whether the statements
 * follow the walks, and whether each of these is followed.
 */
export const walks = {
  usersByCreation: walk("users", "users_created", ["tenant"], ["created", "id"]),
  usersByAddress: walk("users", "users_email_key", ["tenant"], ["emailKey"], ["emailKey", "id"]),
  usersByName: walk("users", "users_name_key", ["tenant"], ["nameKey", "id"]),
  usersByLastUse: walk("users", "users_last_seen_day", ["tenant"], ["lastSeenDay", "id"]),
  disabledUsers: walk("users", "users_disabled", ["tenant"], ["disabledSince", "id"]),
  usersBeingDeleted: walk("users", "users_deleted", [], ["deleted"]),

  accountsOfUser: walk("accounts", "accounts_user_id", ["tenant", "userId"], ["provider", "providerAccountId"]),
  accountsOfProvider: walk("accounts", "PRIMARY", ["tenant", "provider"], ["providerAccountId"]),
  authenticatorsOfUser: walk("authenticators", "authenticators_user_id", ["tenant", "userId"], ["credentialID"]),

  sessionsByCreation: walk("sessions", "sessions_created", ["tenant"], ["created", "id"]),
  sessionsOfUser: walk("sessions", "sessions_user_id", ["tenant", "userId"], ["created", "id"]),
  sessionsOfAddress: walk("sessions", "sessions_ip", ["tenant", "ip"], ["created", "id"]),
  sessionsByExpiry: walk("sessions", "sessions_expires", [], ["expires"]),

  verificationTokensByExpiry: walk("verificationTokens", "verification_tokens_expires", [], ["expires"]),
  idempotencyKeysByCreation: walk("idempotencyKeys", "idempotency_keys_created", [], ["created"]),
  endedTokensByExpiry: walk("endedTokens", "ended_tokens_expires", [], ["expires"]),
  endedTokensOfTenant: walk("endedTokens", "ended_tokens_tenant", ["tenant"], ["expires"]),
  cachesByExpiry: walk("caches", "caches_expires", [], ["expires"]),

  webhooksOfTenant: walk("webhooks", "PRIMARY", ["tenant"], ["id"]),
  webhooksByTenant: walk("webhooks", "PRIMARY", [], ["tenant", "id"]),
  deliveriesOfWebhook: walk("webhookDeliveries", "PRIMARY", ["tenant", "webhookId"], ["number"]),
  deliveriesByState: walk(
    "webhookDeliveries",
    "webhook_deliveries_pending",
    ["tenant", "webhookId", "pending"],
    ["number"],
  ),
  deliveriesByExpiry: walk("webhookDeliveries", "webhook_deliveries_expires", [], ["expires"]),

  tenantsByName: walk("tenants", "PRIMARY", [], ["name"]),
  apiKeysOfTenant: walk("apiKeys", "api_keys_list", ["tenant"], ["id"]),
  apiKeysById: walk("apiKeys", "PRIMARY", [], ["id"]),
  apiKeysByChange: walk("apiKeys", "api_keys_changed", [], ["changed", "id"]),

  auditEntriesByCreation: walk("auditEntries", "audit_entries_created", [], ["created"]),
  auditEntriesOfTenant: walk("auditEntries", "audit_entries_tenant", ["tenant"], ["created", "id"]),
  auditEntriesOfSubject: walk("auditEntries", "audit_entries_subject", ["tenant", "subject"], ["created", "id"]),
  auditEntriesOfKey: walk("auditEntries", "audit_entries_key", ["tenant", "keyId"], ["created", "id"]),
  auditEntriesOfMethod: walk("auditEntries", "audit_entries_method", ["tenant", "method"], ["created", "id"]),

  eventsOfTenant: walk("events", "events_tenant", ["tenant"], ["sequence"]),
} as const
