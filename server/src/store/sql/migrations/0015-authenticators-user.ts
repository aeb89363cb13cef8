import { migration } from "./migration.js"

/** Authenticators belong to a user of their own tenant, and every row that is made from now on says whose it is. */
export const authenticatorsUser = migration({
  name: "0015-authenticators-user",
  server: `
    ALTER TABLE authenticators
      ALTER COLUMN tenant DROP DEFAULT,
      ADD CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)
        ON DELETE NO ACTION ON UPDATE NO ACTION`,
  // See 0012-users-tenant.
  sqlite: [],
  down: {
    server: `
      ALTER TABLE authenticators
        ALTER COLUMN tenant SET DEFAULT 'default',
        DROP FOREIGN KEY authenticators_user_id_fkey`,
    sqlite: [],
  },
})
