import { migration } from "./migration.js"

/** Tenants, each named by bytes: the applications whose data is kept apart. */
export const tenants = migration({
  name: "0006-tenants",
  server: `
    CREATE TABLE tenants (
      name VARBINARY(63) NOT NULL,
      created DATETIME(3) NOT NULL,
      PRIMARY KEY (name)
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "tenants" (
      "name" text PRIMARY KEY NOT NULL,
      "created" datetime NOT NULL
    )`,
  ],
  down: "DROP TABLE tenants",
})
