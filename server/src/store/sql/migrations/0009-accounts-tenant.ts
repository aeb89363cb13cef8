import { migration } from "./migration.js"

/**
 * Accounts belong to a tenant, as all tables do from here to 0017: it is the first column of every unique key. What was
 * stored before is the default tenant's. The foreign key comes back when users have their tenant too (0013).
 */
export const accountsTenant = migration({
  name: "0009-accounts-tenant",
  server: `
    ALTER TABLE accounts
      DROP FOREIGN KEY accounts_user_id_fkey,
      DROP INDEX accounts_user_id,
      ADD COLUMN tenant VARBINARY(63) NOT NULL DEFAULT 'default' FIRST,
      DROP PRIMARY KEY,
      ADD PRIMARY KEY (tenant, provider, provider_account_id),
      ADD INDEX accounts_user_id (tenant, user_id)`,
  // See 0012-users-tenant.
  sqlite: [],
  down: {
    server: `
      ALTER TABLE accounts
        DROP INDEX accounts_user_id,
        DROP PRIMARY KEY,
        ADD PRIMARY KEY (provider, provider_account_id),
        DROP COLUMN tenant,
        ADD INDEX accounts_user_id (user_id),
        ADD CONSTRAINT accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
          ON DELETE NO ACTION ON UPDATE NO ACTION`,
    sqlite: [],
  },
})
