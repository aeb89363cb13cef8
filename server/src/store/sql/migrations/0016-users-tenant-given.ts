import { migration } from "./migration.js"

/** Every user that is made from now on says whose it is. */
export const usersTenantGiven = migration({
  name: "0016-users-tenant-given",
  server: "ALTER TABLE users ALTER COLUMN tenant DROP DEFAULT",
  sqlite: [],
  down: { server: "ALTER TABLE users ALTER COLUMN tenant SET DEFAULT 'default'", sqlite: [] },
})
