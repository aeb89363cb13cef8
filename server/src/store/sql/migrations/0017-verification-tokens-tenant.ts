import { hash } from "node:crypto"
import type { QueryRunner } from "typeorm"
import { migration } from "./migration.js"

/**
 * Verification tokens belong to a tenant, and each is named by the SHA-256 of its token: who reads the table, or a
 * backup of it, cannot sign in by it, whoever made the token.
 *
 * Here the servers compute the hashes of what is there; 0018 takes the tokens away. Back again there are no tokens to
 * be had: nobody can use those that were not used before.
 */
export const verificationTokensTenant = migration({
  name: "0017-verification-tokens-tenant",
  server: `
    ALTER TABLE verification_tokens
      ADD COLUMN tenant VARBINARY(63) NOT NULL DEFAULT 'default' FIRST,
      ADD COLUMN token_hash BINARY(32) GENERATED ALWAYS AS (UNHEX(SHA2(token, 256))) STORED`,
  sqlite: rebuild,
  down: {
    server: "ALTER TABLE verification_tokens DROP COLUMN token_hash, DROP COLUMN tenant",
    sqlite: [
      `DROP TABLE "verification_tokens"`,
      `CREATE TABLE "verification_tokens" (
        "identifier" text NOT NULL,
        "token" text NOT NULL,
        "expires" datetime NOT NULL,
        PRIMARY KEY ("identifier", "token")
      )`,
    ],
  },
})

// SQLite has no SHA-256.
async function rebuild(runner: QueryRunner): Promise<void> {
  await runner.query(`CREATE TABLE "verification_tokens_new" (
    "tenant" text NOT NULL,
    "identifier" text NOT NULL,
    "token_hash" blob NOT NULL,
    "expires" datetime NOT NULL,
    PRIMARY KEY ("tenant", "identifier", "token_hash")
  )`)
  for (const { identifier, token, expires } of await runner.query(`SELECT * FROM "verification_tokens"`)) {
    const cells = [identifier, hash("sha256", token, "buffer"), expires]
    await runner.query(`INSERT INTO "verification_tokens_new" VALUES ('default', ?, ?, ?)`, cells)
  }
  await runner.query(`DROP TABLE "verification_tokens"`)
  await runner.query(`ALTER TABLE "verification_tokens_new" RENAME TO "verification_tokens"`)
}
