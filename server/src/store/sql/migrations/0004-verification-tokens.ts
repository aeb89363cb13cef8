import { migration } from "./migration.js"

/**
 * Verification tokens, each named by identifier and token, as bytes.
 *
 * No foreign key: the identifier is the address of somebody who need not be a user yet. 1,280 and 1,024 bytes stay
 * below the 3,072 that a key of InnoDB may have.
 */
export const verificationTokens = migration({
  name: "0004-verification-tokens",
  server: `
    CREATE TABLE verification_tokens (
      identifier VARBINARY(1280) NOT NULL,
      token VARBINARY(1024) NOT NULL,
      expires DATETIME(3) NOT NULL,
      PRIMARY KEY (identifier, token)
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "verification_tokens" (
      "identifier" text NOT NULL,
      "token" text NOT NULL,
      "expires" datetime NOT NULL,
      PRIMARY KEY ("identifier", "token")
    )`,
  ],
  down: "DROP TABLE verification_tokens",
})
