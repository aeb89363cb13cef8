import { migration } from "./migration.js"

/**
 * Adds the table of processes that have clients of a tenant which cache sessions in memory: how long each client may
 * use its cache, and up to which event all of them have confirmed the changes. An expired row belongs to a process that
 * has ended or has no such clients any more.
 */
export const caches = migration({
  name: "0011-caches",
  previousVersion: { compatible: true, reason: "it adds a table that the previous version does not know" },
  makes: { table: "caches", column: "process" },
  server: `CREATE TABLE caches (
    tenant VARBINARY(63) NOT NULL,
    process VARBINARY(63) NOT NULL,
    version BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    confirmed BIGINT NOT NULL,
    expires DATETIME(3) NOT NULL,
    PRIMARY KEY (tenant, process),
    INDEX caches_expires (expires)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "caches" (
      "tenant" text NOT NULL,
      "process" text NOT NULL,
      "version" integer NOT NULL,
      "lease_ms" integer NOT NULL,
      "confirmed" integer NOT NULL,
      "expires" datetime NOT NULL,
      PRIMARY KEY ("tenant", "process")
    )`,
    `CREATE INDEX "caches_expires" ON "caches" ("expires")`,
  ],
  postgres: [
    `CREATE TABLE caches (
      tenant text COLLATE "C" NOT NULL,
      process text COLLATE "C" NOT NULL,
      version int8 NOT NULL,
      lease_ms int8 NOT NULL,
      confirmed int8 NOT NULL,
      expires timestamptz(3) NOT NULL,
      PRIMARY KEY (tenant, process)
    )`,
    "CREATE INDEX caches_expires ON caches (expires)",
  ],
  down: "DROP TABLE caches",
})
