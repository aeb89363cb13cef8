import { migration } from "./migration.js"

/** The tenant that is there from the beginning, and whose is what was stored before there were tenants. */
export const defaultTenant = migration({
  name: "0007-default-tenant",
  server: "INSERT IGNORE INTO tenants (name, created) VALUES ('default', UTC_TIMESTAMP(3))",
  sqlite: [`INSERT OR IGNORE INTO "tenants" VALUES ('default', strftime('%Y-%m-%d %H:%M:%f', 'now'))`],
  down: "DELETE FROM tenants WHERE name = 'default'",
})
