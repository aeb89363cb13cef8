import { StoreError } from "../../errors/store-error.js"
import type { TenantRows, TenantStore } from "../store.js"
import type { Database } from "./database.js"
import { type Statement, type Statements, statement } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { deleteByKeys } from "./schema/delete-by-keys.js"
import type { Table } from "./schema/table.js"

/** A row of any table that belongs to a tenant. */
interface Owned {
  tenant: string
}

export function tenantStore(database: Database): TenantStore {
  const { tenants } = database.tables
  const allTenants = tenants.statement(tenants.selectFrom("t").orderBy("t.name"))
  const owned = ownedTables(database)
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

    async count(waiter, name) {
      const sql = database.reads(waiter, "scan")
      const counts: TenantRows[] = []
      for (const { table, countRows } of owned) {
        const [cells] = await sql.read(countRows, { tenant: name })
        counts.push({ table, count: Number(cells?.[0]) })
      }
      return counts
    },

    deleteBatch: (waiter, name, limit) =>
      database.transaction(waiter, [tenants.nameOf({ name })], async (sql) => {
        for (const { table, deleteRows } of owned) {
          const count = await deleteRows(sql, name, limit)
          if (count > 0) return { table, count }
        }
        const count = await sql.write(tenants.delete, { name })
        return count === 0 ? null : { table: tenants.name, count }
      }),
  }
}

/** Returns every table with rows of tenants, except that of events. A table that others reference comes after them. */
function ownedTables(database: Database) {
  const { dataSource, tables } = database
  const all = Object.values<unknown>(tables) as Table<Owned, "tenant">[]
  const { events, users, apiKeys } = tables
  const last = [users.name, apiKeys.name]
  return all
    .filter(
      ({ entity, name }) => name !== events.name && dataSource.getMetadata(entity).findColumnWithPropertyName("tenant"),
    )
    .sort((one, other) => last.indexOf(one.name) - last.indexOf(other.name))
    .map((table) => {
      // Users that are being deleted, too.
      const select = (what: string) => table.selectFrom("t").withDeleted().select(what).where("t.tenant = :tenant")
      const parameters = { tenant: ({ tenant }: Owned) => table.cell("tenant", tenant) }
      const keys = table.key.map((property) => `t.${property}`).join(", ")
      const selects = new Map<number, Statement<Owned>>()
      const deleteThem = deleteByKeys(table)
      return {
        table: table.name,
        countRows: statement<Owned, Owned>(select("COUNT(*)"), parameters),
        async deleteRows(sql: Statements, tenant: string, limit: number): Promise<number> {
          const first = selects.get(limit) ?? statement<Owned, Owned>(select(keys).limit(limit), parameters)
          selects.set(limit, first)
          const rows = await sql.read(first, { tenant })
          await deleteThem(sql, rows)
          return rows.length
        },
      }
    })
}
