import { migration } from "./migration.js"

/**
 * Adds the index that finds expired verification tokens, like the one of sessions. Unused tokens stay in the table, so
 * without the index each cleanup would read all of them.
 */
export const expiredVerificationTokens = migration({
  name: "0006-expired-verification-tokens",
  previousVersion: { compatible: true, reason: "it adds an index" },
  makes: { table: "verification_tokens", index: "verification_tokens_expires" },
  server: "ALTER TABLE verification_tokens ADD INDEX verification_tokens_expires (expires)",
  sqlite: `CREATE INDEX "verification_tokens_expires" ON "verification_tokens" ("expires")`,
  postgres: "CREATE INDEX verification_tokens_expires ON verification_tokens (expires)",
  down: {
    server: "ALTER TABLE verification_tokens DROP INDEX verification_tokens_expires",
    sqlite: `DROP INDEX "verification_tokens_expires"`,
    postgres: "DROP INDEX verification_tokens_expires",
  },
})
