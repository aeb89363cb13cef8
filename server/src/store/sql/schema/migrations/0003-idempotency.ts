import { migration } from "./migration.js"

/**
 * Adds the table of answers of writes, for callers that lost an answer and repeat the request. Each answer is committed
 * together with its write.
 *
 * `key_hash` is the SHA-256 of the caller's API key id and of the idempotency key. `answer` is sealed with a key that
 * depends on the idempotency key, which only the caller has, and contains a digest of the request. So a reader of the
 * table can guess neither. The index serves the removal of rows by their age.
 */
export const idempotency = migration({
  name: "0003-idempotency",
  previousVersion: {
    compatible: true,
    reason: "it adds a table that the previous version does not know; that version ignores the header",
  },
  makes: { table: "idempotency_keys", column: "key_hash" },
  server: `CREATE TABLE idempotency_keys (
    tenant VARBINARY(63) NOT NULL,
    key_hash BINARY(32) NOT NULL,
    answer MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created DATETIME(3) NOT NULL,
    PRIMARY KEY (tenant, key_hash),
    INDEX idempotency_keys_created (created)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "idempotency_keys" (
      "tenant" text NOT NULL,
      "key_hash" blob NOT NULL,
      "answer" text NOT NULL,
      "created" datetime NOT NULL,
      PRIMARY KEY ("tenant", "key_hash")
    )`,
    `CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" ("created")`,
  ],
  postgres: [
    `CREATE TABLE idempotency_keys (
      tenant text COLLATE "C" NOT NULL,
      key_hash bytea NOT NULL,
      answer text COLLATE "C" NOT NULL,
      created timestamptz(3) NOT NULL,
      PRIMARY KEY (tenant, key_hash)
    )`,
    "CREATE INDEX idempotency_keys_created ON idempotency_keys (created)",
  ],
  down: "DROP TABLE idempotency_keys",
})
