import type { Caller, Store } from "../../store.js"
import type { Database, Shards } from "../database.js"
import { unlessCreated } from "./repeated-keys.js"
import { apart } from "./tenants.js"

/** The store of one database, with what deletes its expired rows. */
type Whole = Store & { readonly database: Database }

/** The parts of a store whose every method has a caller, and reads and writes rows of its tenant only. */
const ofTenants = [
  "users",
  "accounts",
  "tokenRefreshes",
  "sessions",
  "sessionPolicies",
  "verificationTokens",
  "authenticators",
  "caches",
  "signals",
] as const

/**
 * Creates the store of a sharded keyspace. It has a store for each shard, and one for the unsharded keyspace, with the tenants, keys,
 * leases and what the cleanup does on all of them. A call of a tenant goes to the store of its shard as it is.
 *
 * @param global the database of its unsharded keyspace.
 * @param storeOn creates the store of a single database.
 */
export function shardedStore(
  global: Database,
  { shards, storeOn }: { shards: Shards; storeOn: (database: Database) => Whole },
): Whole {
  const own = storeOn(global)
  const stores = new WeakMap<Database, Whole>([[global, own]])
  const storeOf = (database: Database): Whole => {
    const store = stores.get(database) ?? storeOn(database)
    stores.set(database, store)
    return store
  }
  const home = async (tenant: string) => storeOf(await shards.of(tenant))

  /** Returns the part of the stores with this name, for callers of any tenant. */
  const routed = <Name extends keyof Store>(name: Name): Store[Name] => {
    const route =
      (method: string) =>
      async (caller: Caller, ...rest: unknown[]) => {
        const part = (await home(caller.tenant))[name] as unknown as Record<string, (...all: unknown[]) => unknown>
        return part[method]?.(caller, ...rest)
      }
    return Object.fromEntries(Object.keys(own[name]).map((method) => [method, route(method)])) as unknown as Store[Name]
  }

  // Each part of a store is named, so that a new one has to be given its place.
  return {
    database: global,
    tenants: own.tenants,
    signingKeys: own.signingKeys,
    leases: own.leases,
    expired: own.expired,
    now: own.now,
    clockOffsetMs: own.clockOffsetMs,
    turn: own.turn,
    ...(Object.fromEntries(ofTenants.map((name) => [name, routed(name)])) as Pick<Store, (typeof ofTenants)[number]>),
    events: {
      ...routed("events"),
      isEnabled: own.events.isEnabled,
      sealer: own.events.sealer,
      positionOf: own.events.positionOf,
    },
    apiKeys: {
      ...own.apiKeys,
      create: (waiter, key, ...rest) =>
        unlessCreated(own.apiKeys, waiter, key, () => own.apiKeys.create(apart(waiter), key, ...rest)),
      revoke: (waiter, ...rest) => own.apiKeys.revoke(apart(waiter), ...rest),
    },
    audit: {
      ...routed("audit"),
      async add(waiter, entries) {
        const homes = await Promise.all(entries.map(({ tenant }) => home(tenant)))
        const byStore = Map.groupBy(entries.keys(), (index) => homes[index] as Whole)
        const added = [...byStore].map(([store, indexes]) =>
          store.audit.add(
            waiter,
            [...indexes].map((index) => entries[index] as (typeof entries)[number]),
          ),
        )
        return new Map((await Promise.all(added)).flatMap((failed) => [...failed]))
      },
    },
    webhooks: {
      ...routed("webhooks"),
      // A shard that does not answer takes its own webhooks with it only.
      async active(waiter) {
        const read = shards.all().map((one) => storeOf(one).webhooks.active(waiter))
        const found = (await Promise.allSettled(read)).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
        return (found.length === 0 ? await Promise.all(read) : found).flat()
      },
    },
    once: async (caller, ...rest) => (await home(caller.tenant)).once(caller, ...rest),
    // A shard that does not answer takes its own tenants with it only.
    async ping(waiter) {
      await own.ping(waiter)
      await shards.refresh()
      const pings = shards.all().map((database) => storeOf(database).ping(waiter))
      await Promise.any(pings).catch(({ errors: [first] }: AggregateError) => {
        throw first
      })
    },
    close: global.close,
  }
}
