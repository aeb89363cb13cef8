import { migration } from "./migration.js"

/** Sessions belong to a user of their own tenant, and every row that is made from now on says whose it is. */
export const sessionsUser = migration({
  name: "0014-sessions-user",
  server: `
    ALTER TABLE sessions
      ALTER COLUMN tenant DROP DEFAULT,
      ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)
        ON DELETE NO ACTION ON UPDATE NO ACTION`,
  // See 0012-users-tenant.
  sqlite: [],
  down: {
    server: `
      ALTER TABLE sessions
        ALTER COLUMN tenant SET DEFAULT 'default',
        DROP FOREIGN KEY sessions_user_id_fkey`,
    sqlite: [],
  },
})
