import { migration } from "./migration.js"

/**
 * Which processes have clients that keep sessions in memory: for how long each may use what it keeps, and how far all have
 * confirmed that they know what was changed. A row that has expired is that of a process that is gone.
 */
export const caches = migration({
  name: "0011-caches",
  lastVersion: { compatible: true, reason: "it adds a table that the last version does not know" },
  server: `CREATE TABLE caches (
    process VARBINARY(63) NOT NULL,
    version BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    confirmed BIGINT NOT NULL,
    expires DATETIME(3) NOT NULL,
    PRIMARY KEY (process),
    INDEX caches_expires (expires)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "caches" (
      "process" text PRIMARY KEY NOT NULL,
      "version" integer NOT NULL,
      "lease_ms" integer NOT NULL,
      "confirmed" integer NOT NULL,
      "expires" datetime NOT NULL
    )`,
    `CREATE INDEX "caches_expires" ON "caches" ("expires")`,
  ],
  postgres: [
    `CREATE TABLE caches (
      process text COLLATE "C" PRIMARY KEY,
      version int8 NOT NULL,
      lease_ms int8 NOT NULL,
      confirmed int8 NOT NULL,
      expires timestamptz(3) NOT NULL
    )`,
    "CREATE INDEX caches_expires ON caches (expires)",
  ],
  down: "DROP TABLE caches",
})
