import { createTables, migration } from "./migration.js"
import { type ColumnTypes, createTable, mysqlTypes, postgresTypes, sqliteTypes, type TableSql } from "./table-sql.js"

/** The tables. A table that is referenced comes before those that reference it. */
function tablesOf(types: ColumnTypes) {
  const { key, hash, string, text, longText, time, changed, double, uint32, boolean, whole, counted, now, handle } =
    types
  const created = `${time} DEFAULT ${now}`
  const ofUser = (name: string) => ({ name, columns: ["tenant", "user_id"], table: "users", key: ["tenant", "id"] })
  return {
    users: {
      columns: { tenant: key(63), id: key(255), extra: longText, created, updated: created },
      nullable: {
        email: string(320),
        email_key: key(1280),
        email_verified: time,
        name: text,
        image: longText,
        provisional_until: time,
        private_extra: longText,
        disabled: time,
        disabled_until: time,
        disabled_reason: text,
        deleted: time,
        last_seen_day: time,
        name_key: key(512),
      },
      key: ["tenant", "id"],
      unique: { users_email_key: ["tenant", "email_key"] },
      indexes: {
        users_created: ["tenant", "created", "id"],
        users_last_seen_day: ["tenant", "last_seen_day", "id"],
        users_disabled: ["tenant", "disabled", "id"],
        users_deleted: ["deleted"],
        users_name_key: ["tenant", "name_key", "id"],
      },
    },

    accounts: {
      columns: {
        tenant: key(63),
        provider: key(255),
        provider_account_id: key(1400),
        user_id: key(255),
        type: string(32),
        extra: longText,
        created,
        updated: created,
      },
      nullable: {
        access_token: longText,
        token_type: string(255),
        id_token: longText,
        refresh_token: longText,
        scope: text,
        expires_in: double,
        expires_at: double,
        authorization_details: longText,
        refresh_holder: key(63),
        refresh_until: time,
        refresh_failure: key(64),
        refresh_mark: hash,
      },
      key: ["tenant", "provider", "provider_account_id"],
      indexes: { accounts_user_id: ["tenant", "user_id", "provider", "provider_account_id"] },
      reference: ofUser("accounts_user_id_fkey"),
    },

    sessions: {
      columns: {
        tenant: key(63),
        token_hash: hash,
        user_id: key(255),
        expires: time,
        extra: longText,
        id: `${key(32)} DEFAULT ${handle}`,
        created,
      },
      nullable: {
        last_seen: time,
        ip: string(64),
        user_agent: string(512),
        auth_method: string(64),
        provider: key(255),
        impersonator: key(255),
        provider_session_id: key(255),
      },
      key: ["tenant", "token_hash"],
      unique: { sessions_id: ["tenant", "id"] },
      indexes: {
        sessions_user_id: ["tenant", "user_id", "created", "id"],
        sessions_created: ["tenant", "created", "id", "impersonator"],
        sessions_ip: ["tenant", "ip", "created", "id"],
        sessions_provider_session_id: ["tenant", "provider", "provider_session_id", "id"],
        sessions_expires: ["expires"],
      },
      reference: ofUser("sessions_user_id_fkey"),
    },

    verification_tokens: {
      columns: { tenant: key(63), identifier: key(1280), token_hash: hash, expires: time },
      key: ["tenant", "identifier", "token_hash"],
      indexes: { verification_tokens_expires: ["expires"] },
    },

    authenticators: {
      columns: {
        tenant: key(63),
        credential_id: key(1400),
        user_id: key(255),
        provider_account_id: key(1400),
        credential_public_key: text,
        counter: uint32,
        credential_device_type: string(64),
        credential_backed_up: boolean,
        extra: longText,
        created,
        updated: created,
      },
      nullable: { transports: text, display_name: string(100), last_used: time },
      key: ["tenant", "credential_id"],
      indexes: { authenticators_user_id: ["tenant", "user_id", "credential_id"] },
      reference: ofUser("authenticators_user_id_fkey"),
    },

    tenants: { columns: { name: key(63), created: time }, nullable: { deleted: time }, key: ["name"] },

    api_keys: {
      columns: { id: key(32), name: string(255), tenant: key(63), scopes: longText, created: time, changed },
      nullable: { secret_hash: hash, certificate_name: key(512), expires: time, revoked: time },
      key: ["id"],
      indexes: { api_keys_list: ["tenant", "id"], api_keys_changed: ["changed", "id"] },
      reference: { name: "api_keys_tenant_fkey", columns: ["tenant"], table: "tenants", key: ["name"] },
    },

    idempotency_keys: {
      columns: { tenant: key(63), key_hash: hash, answer: longText, created: time },
      key: ["tenant", "key_hash"],
      indexes: { idempotency_keys_created: ["created"] },
    },

    ended_tokens: {
      columns: { tenant: key(63), key_hash: hash, ended: time, expires: time },
      key: ["tenant", "key_hash"],
      indexes: { ended_tokens_expires: ["expires"], ended_tokens_tenant: ["tenant", "expires"] },
    },

    signing_keys: { columns: { number: whole, private_key: longText, used_from: time }, key: ["number"] },

    webhooks: {
      columns: {
        tenant: key(63),
        id: key(32),
        name: string(255),
        url: text,
        kinds: longText,
        include_user: boolean,
        created: time,
        secrets: longText,
        position: whole,
        version: whole,
        deliveries: whole,
      },
      nullable: { disabled: time, disable_reason: key(16), previous_secret_until: time },
      key: ["tenant", "id"],
    },

    webhook_deliveries: {
      columns: {
        tenant: key(63),
        webhook_id: key(32),
        number: whole,
        kind: key(32),
        created: time,
        pending: boolean,
        attempts: uint32,
        expires: time,
      },
      nullable: {
        sequence: whole,
        user_id: key(255),
        session_id: key(32),
        provider: key(255),
        last_attempt: time,
        next_attempt: time,
        status: uint32,
        failure: string(255),
        duration_ms: uint32,
      },
      key: ["tenant", "webhook_id", "number"],
      indexes: {
        webhook_deliveries_pending: ["tenant", "webhook_id", "pending", "number"],
        webhook_deliveries_expires: ["expires"],
      },
    },

    leases: { columns: { name: key(63), holder: key(63), until: time }, key: ["name"] },

    events: {
      columns: { id: counted, tenant: key(63), kind: key(32), created: time },
      nullable: { sequence: whole, user_id: key(255), session_id: key(32), provider: key(255) },
      indexes: { events_tenant: ["tenant", "sequence", "id"] },
    },

    audit_entries: {
      columns: { id: counted, tenant: key(63), created: time, method: key(128), details: longText },
      nullable: { key_id: key(63), subject: key(128) },
      indexes: {
        audit_entries_created: ["created"],
        audit_entries_tenant: ["tenant", "created", "id"],
        audit_entries_subject: ["tenant", "subject", "created", "id"],
        audit_entries_key: ["tenant", "key_id", "created", "id"],
        audit_entries_method: ["tenant", "method", "created", "id"],
      },
    },

    session_policies: {
      columns: { tenant: key(63), provider: key(255) },
      nullable: {
        max_age: whole,
        idle_timeout: whole,
        max_sessions: whole,
        at_limit: key(16),
        revoked_before: time,
      },
      key: ["tenant", "provider"],
    },

    event_head: { columns: { tenant: key(63), sequence: whole, history: key(32) }, key: ["tenant"] },

    caches: {
      columns: {
        tenant: key(63),
        process: key(63),
        version: whole,
        lease_ms: whole,
        confirmed: whole,
        expires: time,
      },
      key: ["tenant", "process"],
      indexes: { caches_expires: ["expires"] },
    },
  } satisfies Record<string, TableSql>
}

/** Returns the statements that create the tables and insert the first rows. */
function statementsOf(types: ColumnTypes, options?: { prefix: string; options: string }): string[] {
  const nameOf = (table: string) => types.quote((options?.prefix ?? "") + table)
  return [
    ...Object.entries<TableSql>(tablesOf(types)).flatMap(([name, table]) => createTable(types, name, table, options)),
    ...types.further,
    `INSERT INTO ${nameOf("tenants")} (name, created) VALUES ('default', ${types.now})`,
  ]
}

/** The names of the tables. A table that references others comes before them. */
const names = Object.keys(tablesOf(mysqlTypes)).reverse()

const drops = names.map((name) => `DROP TABLE ${name}`)

const makes = { table: "users", column: "email_key" }

/**
 * Creates the tables. rows.ts says what their columns are, and column-types.ts and the decisions 3, 11, 15 and 17 why they have
 * this form.
 *
 * Every row of callers' data belongs to a tenant, and each of its keys begins with the tenant. A key of InnoDB may have 3,072
 * bytes, an entry of an index of PostgreSQL 2,704. The 1,280 bytes of an address are 320 characters of four bytes.
 *
 * `changed` of an API key is the time of its last change, by which processes read only the keys that have changed. The
 * database itself sets it, because keys are also changed by hand.
 *
 * Impersonated sessions are found in the index of the time of creation, which therefore has the impersonator. Each list of
 * audit entries has an index that ends with its order. The indexes of `expires`, `deleted`, and `created` of idempotency keys
 * and audit entries serve the cleanup.
 */
export const initial = migration({
  name: "0001-initial",
  previousVersion: { compatible: true, reason: "there is none before the first release" },
  makes,
  server: (runner) =>
    createTables(runner, {
      tables: names,
      makes,
      statements: statementsOf(mysqlTypes, {
        prefix: "authwire_new_",
        options: "ENGINE = InnoDB ROW_FORMAT = DYNAMIC",
      }),
    }),
  sqlite: statementsOf(sqliteTypes),
  postgres: statementsOf(postgresTypes),
  down: {
    // MariaDB drops the tables one after the other, `users` last, and may be interrupted in between.
    server: `DROP TABLE IF EXISTS ${names.join(", ")}`,
    sqlite: drops,
    postgres: [...drops, "DROP FUNCTION authwire_api_key_changed()"],
  },
})
