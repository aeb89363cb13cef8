import { StoreError } from "../../errors/store-error.js"
import type { TenantDirectory } from "../store.js"
import type { Tenant } from "../types.js"
import type { Database } from "./database.js"
import { readList, rowsPerStatement } from "./query/page.js"
import type { PageTokens } from "./query/page-tokens.js"
import { failsBy } from "./query/statement-error.js"

/**
 * The number of tenants up to which callers can create some: every process keeps a little of each. Calls at the same time may exceed it
 * by their number.
 */
export const maxTenants = 1000

/** @param options.clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function tenantDirectory(
  database: Database,
  { tokens, clock }: { tokens: PageTokens; clock: () => number },
): TenantDirectory {
  const { apiKeys, tenants } = database.tables
  const following = tenants.statement(
    tenants.selectFrom("t").where("t.name > :name").orderBy("t.name").limit(rowsPerStatement),
    "name",
  )
  const some = tenants.statement(
    tenants
      .selectFrom("t")
      .select("t.name")
      .limit(maxTenants + 1),
  )

  return {
    async list(caller, page) {
      const sql = database.reads(caller)
      return readList<Tenant, string>(page, {
        tokens,
        name: ["tenants"],
        first: "",
        read: (name) => sql.read(following, { name }),
        table: tenants,
        itemOf: (cells) => tenants.row(cells),
        positionOf: (cells) => tenants.valueIn("name", cells),
      })
    },

    create(caller, name, given) {
      const created = new Date(clock())
      const tenant = { name, created }
      const key = { ...given, tenant: name, created }
      return database.transaction(caller, [tenants.nameOf(tenant), apiKeys.nameOf(key)], async (sql) => {
        try {
          await sql.write(tenants.insert, tenant)
        } catch (error) {
          throw failsBy(error, "duplicate") ? new StoreError("TENANT_ALREADY_EXISTS", "the name is taken") : error
        }
        if ((await sql.read(some, {})).length > maxTenants) throw tooManyTenants()
        try {
          await sql.write(apiKeys.insert, key)
        } catch (error) {
          if (!failsBy(error, "duplicate")) throw error
          throw new StoreError("API_KEY_ALREADY_EXISTS", "the id of the key is taken")
        }
        return { tenant, key }
      })
    },
  }
}

function tooManyTenants(): StoreError {
  const rule = `must be that of one of at most ${maxTenants} tenants: the command creates more`
  return new StoreError("INVALID_FIELD", rule, { field: "name" })
}
