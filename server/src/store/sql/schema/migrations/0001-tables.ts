import { createTables, migration } from "./migration.js"
import { postgresTables } from "./tables-postgres.js"

/** The tables. A table that references others comes before them. */
const names = ["api_keys", "tenants", "authenticators", "verification_tokens", "sessions", "accounts", "users"]

/** The table that is dropped last, identified by a column that a table of users of another service does not have. */
const made = { table: "users", column: "email_key" }

/** For MySQL and MariaDB; see createTables. */
const serverTables = [
  `CREATE TABLE authwire_new_users (
    tenant VARBINARY(63) NOT NULL,
    id VARBINARY(255) NOT NULL,
    email VARCHAR(320) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    email_key VARBINARY(1280) NULL,
    email_verified DATETIME(3) NULL,
    name TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    image MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE INDEX users_email_key (tenant, email_key)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  `CREATE TABLE authwire_new_accounts (
    tenant VARBINARY(63) NOT NULL,
    provider VARBINARY(255) NOT NULL,
    provider_account_id VARBINARY(1400) NOT NULL,
    user_id VARBINARY(255) NOT NULL,
    type VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    access_token MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    token_type VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    id_token MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    refresh_token MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    scope TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    expires_in DOUBLE NULL,
    expires_at DOUBLE NULL,
    authorization_details MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (tenant, provider, provider_account_id),
    INDEX accounts_user_id (tenant, user_id),
    CONSTRAINT accounts_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES authwire_new_users (tenant, id)
      ON DELETE NO ACTION ON UPDATE NO ACTION
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  `CREATE TABLE authwire_new_sessions (
    tenant VARBINARY(63) NOT NULL,
    token_hash BINARY(32) NOT NULL,
    user_id VARBINARY(255) NOT NULL,
    expires DATETIME(3) NOT NULL,
    extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (tenant, token_hash),
    INDEX sessions_expires (expires),
    INDEX sessions_user_id (tenant, user_id),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES authwire_new_users (tenant, id)
      ON DELETE NO ACTION ON UPDATE NO ACTION
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  `CREATE TABLE authwire_new_verification_tokens (
    tenant VARBINARY(63) NOT NULL,
    identifier VARBINARY(1280) NOT NULL,
    expires DATETIME(3) NOT NULL,
    token_hash BINARY(32) NOT NULL,
    PRIMARY KEY (tenant, identifier, token_hash)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  `CREATE TABLE authwire_new_authenticators (
    tenant VARBINARY(63) NOT NULL,
    credential_id VARBINARY(1400) NOT NULL,
    user_id VARBINARY(255) NOT NULL,
    provider_account_id VARBINARY(1400) NOT NULL,
    credential_public_key TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    counter INT UNSIGNED NOT NULL,
    credential_device_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    credential_backed_up TINYINT(1) NOT NULL,
    transports TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (tenant, credential_id),
    INDEX authenticators_user_id (tenant, user_id),
    CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES authwire_new_users (tenant, id)
      ON DELETE NO ACTION ON UPDATE NO ACTION
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  `CREATE TABLE authwire_new_tenants (
    name VARBINARY(63) NOT NULL,
    created DATETIME(3) NOT NULL,
    PRIMARY KEY (name)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  "INSERT INTO authwire_new_tenants (name, created) VALUES ('default', UTC_TIMESTAMP(3))",
  `CREATE TABLE authwire_new_api_keys (
    id VARBINARY(32) NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    tenant VARBINARY(63) NOT NULL,
    scopes MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    secret_hash BINARY(32) NULL,
    certificate_name VARBINARY(512) NULL,
    created DATETIME(3) NOT NULL,
    expires DATETIME(3) NULL,
    revoked DATETIME(3) NULL,
    PRIMARY KEY (id),
    INDEX api_keys_tenant (tenant),
    CONSTRAINT api_keys_tenant_fkey FOREIGN KEY (tenant) REFERENCES authwire_new_tenants (name)
      ON DELETE NO ACTION ON UPDATE NO ACTION
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
]

/**
 * Creates the tables.
 *
 * Every row of callers' data belongs to a tenant, and each of its keys begins with the tenant.
 *
 * Keys are bytes (VARBINARY), because every collation of the servers treats some different keys as equal, and two users
 * with equal ids are one user. A person who could register a credential id that compares equal to another person's
 * could sign in as that person: credential ids are Base64, where upper and lower case differ. An InnoDB key may have
 * 3,072 bytes. Other text is utf8mb4_bin, which both servers have and which compares exactly. On PostgreSQL keys and
 * other text have the collation "C", which compares bytes; an index key there may have 2,704 bytes.
 *
 * Session tokens, verification tokens and the secret parts of API keys are stored only as their SHA-256. So a reader of
 * the table or of a backup cannot sign in with them.
 *
 * `email_key` is the address, trimmed and with ASCII letters in lower case, or NULL if there is none: NULLs do not
 * collide in a unique index. 1,280 bytes are 320 characters of four bytes.
 *
 * JSON is stored as text, because the servers' JSON types change numbers and the order of keys. A picture may be a data
 * URL and provider tokens may be large, beyond the limit of TEXT (65,535 bytes). Seconds are DOUBLE because providers
 * send fractions. The signature counter of WebAuthn is an unsigned 32-bit integer.
 *
 * Foreign keys do not cascade, and the deletion of a user deletes the dependent rows itself: a replication group with
 * several primaries rejects cascading foreign keys, because it cannot see what they delete. Verification tokens have no
 * foreign key, because the identifier is the address of a person who need not be a user yet. The index on `expires` of
 * sessions serves the removal of expired sessions.
 */
export const tables = migration({
  name: "0001-tables",
  previousVersion: { compatible: true, reason: "there is none before it" },
  makes: made,
  server: (runner) => createTables(runner, { tables: names, makes: made, statements: serverTables }),
  sqlite: [
    `CREATE TABLE "users" (
      "tenant" text NOT NULL,
      "id" text NOT NULL,
      "email" text,
      "email_key" text,
      "email_verified" datetime,
      "name" text,
      "image" text,
      "extra" text NOT NULL,
      PRIMARY KEY ("tenant", "id")
    )`,
    `CREATE UNIQUE INDEX "users_email_key" ON "users" ("tenant", "email_key")`,
    `CREATE TABLE "accounts" (
      "tenant" text NOT NULL,
      "provider" text NOT NULL,
      "provider_account_id" text NOT NULL,
      "user_id" text NOT NULL,
      "type" text NOT NULL,
      "access_token" text,
      "token_type" text,
      "id_token" text,
      "refresh_token" text,
      "scope" text,
      "expires_in" double,
      "expires_at" double,
      "authorization_details" text,
      "extra" text NOT NULL,
      CONSTRAINT "accounts_user_id_fkey" FOREIGN KEY ("tenant", "user_id") REFERENCES "users" ("tenant", "id")
        ON DELETE NO ACTION ON UPDATE NO ACTION,
      PRIMARY KEY ("tenant", "provider", "provider_account_id")
    )`,
    `CREATE INDEX "accounts_user_id" ON "accounts" ("tenant", "user_id")`,
    `CREATE TABLE "sessions" (
      "tenant" text NOT NULL,
      "token_hash" blob NOT NULL,
      "user_id" text NOT NULL,
      "expires" datetime NOT NULL,
      "extra" text NOT NULL,
      CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("tenant", "user_id") REFERENCES "users" ("tenant", "id")
        ON DELETE NO ACTION ON UPDATE NO ACTION,
      PRIMARY KEY ("tenant", "token_hash")
    )`,
    `CREATE INDEX "sessions_user_id" ON "sessions" ("tenant", "user_id")`,
    `CREATE INDEX "sessions_expires" ON "sessions" ("expires")`,
    `CREATE TABLE "verification_tokens" (
      "tenant" text NOT NULL,
      "identifier" text NOT NULL,
      "token_hash" blob NOT NULL,
      "expires" datetime NOT NULL,
      PRIMARY KEY ("tenant", "identifier", "token_hash")
    )`,
    `CREATE TABLE "authenticators" (
      "tenant" text NOT NULL,
      "credential_id" text NOT NULL,
      "user_id" text NOT NULL,
      "provider_account_id" text NOT NULL,
      "credential_public_key" text NOT NULL,
      "counter" integer NOT NULL,
      "credential_device_type" text NOT NULL,
      "credential_backed_up" boolean NOT NULL,
      "transports" text,
      "extra" text NOT NULL,
      CONSTRAINT "authenticators_user_id_fkey" FOREIGN KEY ("tenant", "user_id") REFERENCES "users" ("tenant", "id")
        ON DELETE NO ACTION ON UPDATE NO ACTION,
      PRIMARY KEY ("tenant", "credential_id")
    )`,
    `CREATE INDEX "authenticators_user_id" ON "authenticators" ("tenant", "user_id")`,
    `CREATE TABLE "tenants" (
      "name" text PRIMARY KEY NOT NULL,
      "created" datetime NOT NULL
    )`,
    `INSERT INTO "tenants" VALUES ('default', strftime('%Y-%m-%d %H:%M:%f', 'now'))`,
    `CREATE TABLE "api_keys" (
      "id" text PRIMARY KEY NOT NULL,
      "name" text NOT NULL,
      "tenant" text NOT NULL,
      "scopes" text NOT NULL,
      "secret_hash" blob,
      "certificate_name" text,
      "created" datetime NOT NULL,
      "expires" datetime,
      "revoked" datetime,
      CONSTRAINT "api_keys_tenant_fkey" FOREIGN KEY ("tenant") REFERENCES "tenants" ("name")
        ON DELETE NO ACTION ON UPDATE NO ACTION
    )`,
    `CREATE INDEX "api_keys_tenant" ON "api_keys" ("tenant")`,
  ],
  postgres: postgresTables,
  down: {
    // MariaDB drops the tables one after the other and may be interrupted in between.
    server: `DROP TABLE IF EXISTS ${names.join(", ")}`,
    postgres: `DROP TABLE ${names.join(", ")}`,
    sqlite: names.map((name) => `DROP TABLE "${name}"`),
  },
})
