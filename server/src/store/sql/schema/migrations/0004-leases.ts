import { migration } from "./migration.js"

/**
 * Adds the table of leases. The holder of a lease may do the task of that name until a time by the clock of the
 * database.
 */
export const leases = migration({
  name: "0004-leases",
  previousVersion: { compatible: true, reason: "it adds a table that the previous version does not know" },
  makes: { table: "leases", column: "holder" },
  server: `CREATE TABLE leases (
    name VARBINARY(63) NOT NULL,
    holder VARBINARY(63) NOT NULL,
    until DATETIME(3) NOT NULL,
    PRIMARY KEY (name)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: `CREATE TABLE "leases" (
    "name" text PRIMARY KEY NOT NULL,
    "holder" text NOT NULL,
    "until" datetime NOT NULL
  )`,
  postgres: `CREATE TABLE leases (
    name text COLLATE "C" PRIMARY KEY,
    holder text COLLATE "C" NOT NULL,
    until timestamptz(3) NOT NULL
  )`,
  down: "DROP TABLE leases",
})
