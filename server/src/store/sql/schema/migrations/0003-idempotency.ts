import { migration } from "./migration.js"

/**
 * Answers of writes, for callers who lost theirs and ask again. Each is committed with what it answers.
 *
 * `key_hash` is the SHA-256 of the caller's API key id and of the key that it chose. `answer` is sealed by a key that the
 * caller has a part of, with a digest of the request inside: who has the table can guess neither. The index is for removing
 * rows by their age.
 */
export const idempotency = migration({
  name: "0003-idempotency",
  lastVersion: {
    compatible: true,
    reason: "it adds a table that the last version does not know; that version leaves the header unread",
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
