import { StoreError } from "../../errors/store-error.js"
import { oncePer } from "../../util/once-per.js"
import type { TenantRows, TenantStore } from "../store.js"
import type { Tenant } from "../types.js"
import { insertKey } from "./api-keys.js"
import type { Database } from "./database.js"
import { type Cell, type Statements, statement } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { deleteByKeys } from "./schema/delete-by-keys.js"
import type { Table } from "./schema/table.js"
import { creationTurns, tenantLock } from "./turns.js"
import { listAlong } from "./walks/list.js"
import type { PageTokens } from "./walks/page-tokens.js"
import { walks } from "./walks/walks.js"

/** The number of tenants up to which callers can create some: every process keeps a little of each. */
export const maxTenants = 1000

/** A row of any table that belongs to a tenant. */
interface Owned {
  tenant: string
}

export function tenantStore(database: Database): Omit<TenantStore, "page"> {
  const { tables } = database
  const { apiKeys, tenants } = tables
  const allTenants = tenants.statement(tenants.selectFrom("t").orderBy("t.name"))
  const some = tenants.statement(
    tenants
      .selectFrom("t")
      .select("t.name")
      .limit(maxTenants + 1),
  )
  const owned = ownedTables(database)

  const mark = tenants.statement(
    tenants.updateOf("deleted").where(`${tenants.keyIs()} AND deleted IS NULL`),
    ...tenants.key,
    "deleted",
  )
  const lock = tenantLock(database)
  const turns = creationTurns(database)
  const deleteMarked = tenants.statement(
    tenants.deleteFrom().where(`${tenants.keyIs()} AND deleted IS NOT NULL`),
    ...tenants.key,
  )

  async function insert(sql: Statements, tenant: Tenant): Promise<Tenant> {
    try {
      await sql.write(tenants.insert, tenant)
      return tenant
    } catch (error) {
      throw failsBy(error, "duplicate") ? new StoreError("TENANT_ALREADY_EXISTS", "the name is taken") : error
    }
  }

  return {
    create: (waiter, tenant) => database.write(waiter, [tenants.nameOf(tenant)], (sql) => insert(sql, tenant)),

    async createWithKey(caller, tenant, given) {
      const key = { ...given, tenant: tenant.name, created: tenant.created }
      await turns.prepare(caller)
      const rows = [...turns.rows, tenants.nameOf(tenant), apiKeys.nameOf(key)]
      return database.write(caller, rows, async (sql) => {
        await turns.take(sql, key.id)
        await insert(sql, tenant)
        if ((await sql.read(some, {})).length > maxTenants) throw tooManyTenants()
        return { tenant, key: await insertKey(database, sql, key) }
      })
    },

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

    async mark(waiter, { name, deleted }) {
      const rows = [tenants.nameOf({ name })]
      await database.write(waiter, rows, (sql) => sql.write(mark, { name, deleted }))
      // Waits for the transactions that insert rows of the tenant without having seen the mark, because they have locked this row.
      return database.write(waiter, rows, async (sql) => (await sql.read(lock, { name })).length > 0)
    },

    whilePresent: (waiter, name, work) =>
      database.write(waiter, [tenants.nameOf({ name })], async (sql) => {
        const [cells] = await sql.read(lock, { name })
        return cells === undefined || tenants.row(cells).deleted !== undefined ? undefined : work()
      }),

    async deleteBatch(waiter, name, limit) {
      try {
        return await database.write(waiter, [tenants.nameOf({ name })], async (sql) => {
          for (const { table, deleteRows } of owned) {
            const count = await deleteRows(sql, name, limit)
            if (count > 0) return { table, count }
          }
          const count = await sql.write(deleteMarked, { name })
          return count === 0 ? null : { table: tenants.name, count }
        })
      } catch (error) {
        // A call that was admitted before has given something to a user since its rows were read.
        if (failsBy(error, "no-parent")) return { table: tables.users.name, count: 0 }
        throw error
      }
    },
  }
}

/** Creates the pages of tenants. */
export function tenantPages(database: Database, tokens: PageTokens): TenantStore["page"] {
  const { tenants } = database.tables
  const list = listAlong(database, walks.tenantsByName, {
    ...{ alias: "t", select: tenants.columns("t"), where: "t.deleted IS NULL" },
  })
  return (caller, page) => {
    const [name, first, reads] = [["tenants"], { name: "" }, database.reads(caller)]
    const itemOf = (cells: Cell[]) => tenants.row(cells)
    return list(page, { tokens, name, first, values: {}, itemOf, reads, signal: caller.signal })
  }
}

/**
 * Returns every table with rows of tenants. A table that others reference comes after them, and the events after all whose writes may
 * still add one.
 */
function ownedTables(database: Database) {
  const { dataSource, tables } = database
  const all = Object.values<unknown>(tables) as Table<Owned, "tenant">[]
  const { users, apiKeys, events, eventHead } = tables
  const last = [users.name, apiKeys.name, events.name, eventHead.name]
  return all
    .filter(({ entity }) => dataSource.getMetadata(entity).findColumnWithPropertyName("tenant"))
    .sort((one, other) => last.indexOf(one.name) - last.indexOf(other.name))
    .map((table) => {
      // Users that are being deleted, too.
      const select = (what: string) => table.selectFrom("t").withDeleted().select(what).where("t.tenant = :tenant")
      const parameters = { tenant: ({ tenant }: Owned) => table.cell("tenant", tenant) }
      const key = [...new Set(["tenant", ...table.key])]
      const keys = key.map((property) => `t.${property}`).join(", ")
      const firstOf = oncePer((limit: number) => statement<Owned, Owned>(select(keys).limit(limit), parameters))
      const deleteThem = deleteByKeys(table, key)
      return {
        table: table.name,
        countRows: statement<Owned, Owned>(select("COUNT(*)"), parameters),
        async deleteRows(sql: Statements, tenant: string, limit: number): Promise<number> {
          const rows = await sql.read(firstOf(limit), { tenant })
          await deleteThem(sql, rows)
          return rows.length
        },
      }
    })
}

function tooManyTenants(): StoreError {
  const rule = `must be that of one of at most ${maxTenants} tenants: the command creates more`
  return new StoreError("INVALID_FIELD", rule, { field: "name" })
}
