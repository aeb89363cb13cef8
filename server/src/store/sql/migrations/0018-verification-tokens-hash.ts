import { migration } from "./migration.js"

/** The hashes take the place of the tokens; see 0017-verification-tokens-tenant. */
export const verificationTokensHash = migration({
  name: "0018-verification-tokens-hash",
  server: `
    ALTER TABLE verification_tokens
      MODIFY COLUMN token_hash BINARY(32) NOT NULL,
      ALTER COLUMN tenant DROP DEFAULT,
      DROP PRIMARY KEY,
      ADD PRIMARY KEY (tenant, identifier, token_hash),
      DROP COLUMN token`,
  sqlite: [],
  down: {
    server: `
      ALTER TABLE verification_tokens
        ALTER COLUMN tenant SET DEFAULT 'default',
        DROP PRIMARY KEY,
        CHANGE COLUMN token_hash token VARBINARY(1024) NOT NULL,
        ADD COLUMN token_hash BINARY(32) GENERATED ALWAYS AS (UNHEX(SHA2(token, 256))) STORED,
        ADD PRIMARY KEY (identifier, token)`,
    sqlite: [],
  },
})
