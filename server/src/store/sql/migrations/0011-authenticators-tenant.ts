import { migration } from "./migration.js"

/**
 * Authenticators belong to a tenant; see 0009-accounts-tenant.
 */
export const authenticatorsTenant = migration({
  name: "0011-authenticators-tenant",
  server: `
    ALTER TABLE authenticators
      DROP FOREIGN KEY authenticators_user_id_fkey,
      DROP INDEX authenticators_user_id,
      ADD COLUMN tenant VARBINARY(63) NOT NULL DEFAULT 'default' FIRST,
      DROP PRIMARY KEY,
      ADD PRIMARY KEY (tenant, credential_id),
      ADD INDEX authenticators_user_id (tenant, user_id)`,
  // See 0012-users-tenant.
  sqlite: [],
  down: {
    server: `
      ALTER TABLE authenticators
        DROP INDEX authenticators_user_id,
        DROP PRIMARY KEY,
        ADD PRIMARY KEY (credential_id),
        DROP COLUMN tenant,
        ADD INDEX authenticators_user_id (user_id),
        ADD CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
          ON DELETE NO ACTION ON UPDATE NO ACTION`,
    sqlite: [],
  },
})
