import { migration } from "./migration.js"

/**
 * Accounts, each named by provider and account id, as bytes.
 *
 * Tokens of providers may be larger than TEXT holds (65,535 bytes). Seconds are DOUBLE because providers send fractions.
 * The foreign key does not cascade, and deleting a user deletes its accounts: a replication group with several
 * primaries refuses cascading keys, because it cannot see what they delete.
 */
export const accounts = migration({
  name: "0002-accounts",
  server: `
    CREATE TABLE accounts (
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
      PRIMARY KEY (provider, provider_account_id),
      INDEX accounts_user_id (user_id),
      CONSTRAINT accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
        ON DELETE NO ACTION ON UPDATE NO ACTION
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "accounts" (
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
      CONSTRAINT "accounts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id")
        ON DELETE NO ACTION ON UPDATE NO ACTION,
      PRIMARY KEY ("provider", "provider_account_id")
    )`,
    `CREATE INDEX "accounts_user_id" ON "accounts" ("user_id")`,
  ],
  down: "DROP TABLE accounts",
})
