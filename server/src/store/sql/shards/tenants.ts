import { StoreError } from "../../../errors/store-error.js"
import type { Caller, TenantStore, Waiter } from "../../store.js"
import type { Tenant } from "../../types.js"
import { apiKeyStore } from "../api-keys.js"
import type { Database } from "../database.js"
import { tenantStore } from "../tenants.js"
import { unlessCreated } from "./repeated-keys.js"

/** Tenants without their pages. */
type Tenants = Omit<TenantStore, "page">

/** Leaves out the transaction of a caller, which is in the shard of its tenant. */
export function apart<Of extends Waiter>(waiter: Of): Of {
  return { ...waiter, transaction: undefined }
}

/**
 * Creates the store of tenants. With shards, every tenant has a row in the unsharded keyspace, to which its keys refer, and one in its
 * shard, on which its other rows depend. The first one is created first and deleted last, so the name is taken until both are gone.
 */
export function tenantsOf(database: Database): Tenants {
  const { shards } = database
  const own = tenantStore(database)
  if (shards === undefined) return own
  const home = async (tenant: string) => tenantStore(await shards.of(tenant))

  /** Creates the row in the tenant's shard. Returns whether there was none. The tenant cannot be marked meanwhile. */
  async function settle(waiter: Waiter, tenant: Tenant): Promise<boolean | undefined> {
    const there = await home(tenant.name)
    return own.whilePresent(waiter, tenant.name, () =>
      there.create(waiter, tenant).then(
        () => true,
        (error: unknown) => !requireTaken(error),
      ),
    )
  }

  return {
    ...own,

    async create(given, tenant) {
      const waiter = apart(given)
      const taken = await own.create(waiter, tenant).then(() => undefined, requireTaken)
      // If a process has ended between the two, the tenant exists without a row in its shard, which is created now.
      const isSettled = await settle(waiter, tenant)
      if (taken !== undefined && !isSettled) throw taken
      return tenant
    },

    async createWithKey(given: Caller, tenant, key) {
      const caller = apart(given)
      const created = await unlessCreated(apiKeyStore(database), given, { ...key, tenant: tenant.name }, () =>
        own.createWithKey(caller, tenant, key),
      )
      const both = "key" in created ? created : { tenant: { ...tenant, created: created.created }, key: created }
      await settle(caller, both.tenant)
      return both
    },

    async count(waiter, name) {
      const there = await (await home(name)).count(waiter, name)
      const here = await own.count(waiter, name)
      return here.map(({ table, count }, index) => ({ table, count: count + (there[index]?.count ?? 0) }))
    },

    // The unsharded keyspace comes first, so that no key is created any more.
    async mark(waiter, tenant) {
      const exists = await own.mark(waiter, tenant)
      await (await home(tenant.name)).mark(waiter, tenant)
      return exists
    },

    async deleteBatch(waiter, name, limit) {
      const deleted = await (await home(name)).deleteBatch(waiter, name, limit)
      if (deleted !== null && deleted.table !== database.tables.tenants.name) return deleted
      return own.deleteBatch(waiter, name, limit)
    },
  }
}

/** Returns an error that says that the name is taken, and throws any other. */
function requireTaken(error: unknown): StoreError {
  if (error instanceof StoreError && error.reason === "TENANT_ALREADY_EXISTS") return error
  throw error
}
