import { migration } from "./migration.js"
import { rebuildTables } from "./sqlite-tables.js"

/** Users belong to a tenant; see 0009-accounts-tenant. Two tenants may have users with the same id or address. */
export const usersTenant = migration({
  name: "0012-users-tenant",
  server: `
    ALTER TABLE users
      ADD COLUMN tenant VARBINARY(63) NOT NULL DEFAULT 'default' FIRST,
      DROP PRIMARY KEY,
      ADD PRIMARY KEY (tenant, id),
      DROP INDEX users_email_key,
      ADD UNIQUE INDEX users_email_key (tenant, email_key)`,
  // SQLite cannot change keys: here all four tables are made anew at once.
  sqlite: rebuildTables({ tenant: true }),
  down: {
    server: `
      ALTER TABLE users
        DROP PRIMARY KEY,
        ADD PRIMARY KEY (id),
        DROP INDEX users_email_key,
        DROP COLUMN tenant,
        ADD UNIQUE INDEX users_email_key (email_key)`,
    sqlite: rebuildTables({ tenant: false }),
  },
})
