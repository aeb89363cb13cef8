import type { DataSource, EntitySchema, ObjectLiteral } from "typeorm"
import type { Tenant } from "../../types.js"
import type { Dialect } from "./dialect.js"
import type { Entities } from "./entities.js"
import type { OnUnreadable } from "./row-reader.js"
import {
  type AccountRow,
  type ApiKeyRow,
  type AuditRow,
  type AuthenticatorRow,
  disabledColumns,
  type EndedTokenRow,
  type EventHeadRow,
  type EventRow,
  type IdempotencyKeyRow,
  type LeaseRow,
  type ReportRow,
  refreshColumns,
  type SessionPolicyRow,
  type SessionRow,
  type SigningKeyRow,
  type UserRow,
  type VerificationTokenRow,
  type WebhookDeliveryRow,
  type WebhookRow,
} from "./rows.js"
import { type TableOptions, tableOf } from "./table.js"

/** Creates the tables of a data source that was opened with the entities of its engine. */
export function tables(
  { dialect, dataSource }: { dialect: Dialect; dataSource: DataSource },
  entities: Entities,
  onUnreadable: OnUnreadable,
) {
  const table = <Row extends ObjectLiteral, Key extends keyof Row & string>(
    entity: EntitySchema<Row>,
    options: TableOptions<Row> = {},
  ) => tableOf<Row, Key>(dataSource, entity, { dialect, onUnreadable }, options)
  return {
    users: table<UserRow, "tenant" | "id">(entities.users, {
      notUpdated: ["privateExtra", "deleted", "lastSeenDay", ...disabledColumns],
    }),
    accounts: table<AccountRow, "tenant" | "provider" | "providerAccountId">(entities.accounts, {
      notUpdated: refreshColumns,
      isOfUser: true,
    }),
    sessions: table<SessionRow, "tenant" | "tokenHash">(entities.sessions, { isOfUser: true }),
    sessionPolicies: table<SessionPolicyRow, "tenant" | "provider">(entities.sessionPolicies),
    verificationTokens: table<VerificationTokenRow, "tenant" | "identifier" | "tokenHash">(entities.verificationTokens),
    authenticators: table<AuthenticatorRow, "tenant" | "credentialID">(entities.authenticators, { isOfUser: true }),
    idempotencyKeys: table<IdempotencyKeyRow, "tenant" | "keyHash">(entities.idempotencyKeys),
    endedTokens: table<EndedTokenRow, "tenant" | "keyHash">(entities.endedTokens),
    events: table<EventRow, "id">(entities.events, { isOfWrite: true }),
    auditEntries: table<AuditRow, "id">(entities.auditEntries),
    eventHead: table<EventHeadRow, "tenant">(entities.eventHead),
    caches: table<ReportRow, "tenant" | "process">(entities.caches),
    webhooks: table<WebhookRow, "tenant" | "id">(entities.webhooks),
    webhookDeliveries: table<WebhookDeliveryRow, "tenant" | "webhookId" | "number">(entities.webhookDeliveries),
    tenants: table<Tenant, "name">(entities.tenants),
    apiKeys: table<ApiKeyRow, "id">(entities.apiKeys),
    signingKeys: table<SigningKeyRow, "number">(entities.signingKeys),
    leases: table<LeaseRow, "name">(entities.leases),
  }
}

export type Tables = ReturnType<typeof tables>
