import { migration } from "./migration.js"

/** Accounts belong to a user of their own tenant, and every row that is made from now on says whose it is. */
export const accountsUser = migration({
  name: "0013-accounts-user",
  server: `
    ALTER TABLE accounts
      ALTER COLUMN tenant DROP DEFAULT,
      ADD CONSTRAINT accounts_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)
        ON DELETE NO ACTION ON UPDATE NO ACTION`,
  // See 0012-users-tenant.
  sqlite: [],
  down: {
    server: `
      ALTER TABLE accounts
        ALTER COLUMN tenant SET DEFAULT 'default',
        DROP FOREIGN KEY accounts_user_id_fkey`,
    sqlite: [],
  },
})
