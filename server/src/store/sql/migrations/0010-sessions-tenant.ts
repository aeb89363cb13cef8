import { migration } from "./migration.js"

/**
 * Sessions belong to a tenant; see 0009-accounts-tenant.
 */
export const sessionsTenant = migration({
  name: "0010-sessions-tenant",
  server: `
    ALTER TABLE sessions
      DROP FOREIGN KEY sessions_user_id_fkey,
      DROP INDEX sessions_user_id,
      ADD COLUMN tenant VARBINARY(63) NOT NULL DEFAULT 'default' FIRST,
      DROP PRIMARY KEY,
      ADD PRIMARY KEY (tenant, token_hash),
      ADD INDEX sessions_user_id (tenant, user_id)`,
  // See 0012-users-tenant.
  sqlite: [],
  down: {
    server: `
      ALTER TABLE sessions
        DROP INDEX sessions_user_id,
        DROP PRIMARY KEY,
        ADD PRIMARY KEY (token_hash),
        DROP COLUMN tenant,
        ADD INDEX sessions_user_id (user_id),
        ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
          ON DELETE NO ACTION ON UPDATE NO ACTION`,
    sqlite: [],
  },
})
