import { EntitySchema } from "typeorm"
import { isObject } from "../../../util/json.js"
import type { Tenant } from "../../types.js"
import { type ColumnTypes, tenantColumn } from "./column-types.js"
import type {
  ApiKeyRow,
  AuditRow,
  EndedTokenRow,
  EventHeadRow,
  EventRow,
  IdempotencyKeyRow,
  LeaseRow,
  ReportRow,
  SigningKeyRow,
  WebhookDeliveryRow,
  WebhookRow,
} from "./rows.js"

/** Declares the tables of the service itself: what it keeps of calls and processes, and the tenants with their keys. */
export function serviceEntities(types: ColumnTypes) {
  const { key, hash, string, text, longText, json, time, timeOfChange, uint32, boolean, whole } = types
  const tenant = tenantColumn(types)
  return {
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

    endedTokens: new EntitySchema<EndedTokenRow>({
      name: "EndedToken",
      tableName: "ended_tokens",
      columns: {
        tenant,
        keyHash: { name: "key_hash", primary: true, select: false, ...hash(32) },
        ended: { name: "ended", ...time() },
        expires: { name: "expires", ...time() },
      },
      indices: [
        { name: "ended_tokens_expires", columns: ["expires"] },
        { name: "ended_tokens_tenant", columns: ["tenant", "expires"] },
      ],
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
      indices: [{ name: "events_tenant", columns: ["tenant", "sequence", "id"] }],
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
        tenant: { name: "tenant", primary: true, ...key(63) },
        sequence: { name: "sequence", ...whole() },
        history: { name: "history", ...key(32) },
      },
    }),

    caches: new EntitySchema<ReportRow>({
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

    webhooks: new EntitySchema<WebhookRow>({
      name: "Webhook",
      tableName: "webhooks",
      columns: {
        tenant,
        id: { name: "id", primary: true, ...key(32) },
        name: { name: "name", ...string(255) },
        url: { name: "url", ...text() },
        kinds: { name: "kinds", ...json(isListOfTexts) },
        includeUser: { name: "include_user", ...boolean() },
        created: { name: "created", ...time() },
        disabled: { name: "disabled", nullable: true, ...time() },
        disableReason: { name: "disable_reason", nullable: true, ...key(16) },
        previousSecretUntil: { name: "previous_secret_until", nullable: true, ...time() },
        secrets: { name: "secrets", select: false, ...longText() },
        position: { name: "position", select: false, ...whole() },
        version: { name: "version", select: false, ...whole() },
        deliveries: { name: "deliveries", select: false, ...whole() },
      },
    }),

    webhookDeliveries: new EntitySchema<WebhookDeliveryRow>({
      name: "WebhookDelivery",
      tableName: "webhook_deliveries",
      columns: {
        tenant,
        webhookId: { name: "webhook_id", primary: true, ...key(32) },
        number: { name: "number", primary: true, ...whole() },
        kind: { name: "kind", ...key(32) },
        sequence: { name: "sequence", nullable: true, ...whole() },
        userId: { name: "user_id", nullable: true, ...key(255) },
        sessionId: { name: "session_id", nullable: true, ...key(32) },
        provider: { name: "provider", nullable: true, ...key(255) },
        created: { name: "created", ...time() },
        pending: { name: "pending", ...boolean() },
        attempts: { name: "attempts", ...uint32() },
        lastAttempt: { name: "last_attempt", nullable: true, ...time() },
        nextAttempt: { name: "next_attempt", nullable: true, ...time() },
        status: { name: "status", nullable: true, ...uint32() },
        failure: { name: "failure", nullable: true, ...string(255) },
        durationMs: { name: "duration_ms", nullable: true, ...uint32() },
        expires: { name: "expires", select: false, ...time() },
      },
      indices: [
        { name: "webhook_deliveries_pending", columns: ["tenant", "webhookId", "pending", "number"] },
        { name: "webhook_deliveries_expires", columns: ["expires"] },
      ],
    }),

    tenants: new EntitySchema<Tenant>({
      name: "Tenant",
      tableName: "tenants",
      columns: {
        name: { name: "name", primary: true, ...key(63) },
        created: { name: "created", ...time() },
        deleted: { name: "deleted", nullable: true, ...time() },
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

    signingKeys: new EntitySchema<SigningKeyRow>({
      name: "SigningKey",
      tableName: "signing_keys",
      columns: {
        number: { name: "number", primary: true, ...whole() },
        privateKey: { name: "private_key", ...longText() },
        usedFrom: { name: "used_from", ...time() },
      },
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

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string")
}
