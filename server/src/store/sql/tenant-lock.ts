import type { Database } from "./database.js"

/** Creates the statement that locks the row of a tenant, so that transactions that count what the tenant has take turns. */
export function tenantLock({ dialect, tables: { tenants } }: Pick<Database, "dialect" | "tables">) {
  return tenants.statement(dialect.locking(tenants.selectFrom("t").where(tenants.keyIs("t")), "wait"), ...tenants.key)
}
