import { StoreError } from "../../errors/store-error.js"
import type { TenantStore } from "../store.js"
import type { Database } from "./database.js"
import { failsBy } from "./query/statement-error.js"

export function tenantStore(database: Database): TenantStore {
  const { tenants } = database.tables
  const allTenants = tenants.statement(tenants.selectFrom("t").orderBy("t.name"))
  return {
    create: (waiter, tenant) =>
      database.writes(waiter, [tenants.nameOf(tenant)], async (sql) => {
        try {
          await sql.write(tenants.insert, tenant)
          return tenant
        } catch (error) {
          throw failsBy(error, "duplicate") ? new StoreError("TENANT_ALREADY_EXISTS", "the name is taken") : error
        }
      }),

    async list(waiter) {
      const rows = await database.reads(waiter).read(allTenants, {})
      return tenants.readable(rows, (cells) => tenants.row(cells))
    },
  }
}
