import { migration } from "./migration.js"

/**
 * The keys of callers, each named by its public part. Of the secret part there is only the SHA-256. Scopes are a list in
 * JSON.
 */
export const apiKeys = migration({
  name: "0008-api-keys",
  server: `
    CREATE TABLE api_keys (
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
      CONSTRAINT api_keys_tenant_fkey FOREIGN KEY (tenant) REFERENCES tenants (name)
        ON DELETE NO ACTION ON UPDATE NO ACTION
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
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
  down: "DROP TABLE api_keys",
})
