import { describe, expect, test } from "@jest/globals"
import * as fc from "fast-check"
import { StoreError } from "../../../../server/src/errors/store-error.js"
import type { Caller, Store } from "../../../../server/src/store/store.js"
import {
  type ContractContext,
  createTenant,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  range,
} from "../context.js"
import { type Operation, operations } from "./tenant-operations.js"

export function tenantContract(context: ContractContext): void {
  describe("S-19: what a tenant sees", () => {
    // The same operations must have exactly the same results, whether another tenant exists or not. So no sequence of
    // operations reads, changes or reveals the other tenant's data, even with the same names in both.
    test("is what it would see alone", async () => {
      const step = fc.record({ mine: fc.boolean(), operation: operations })
      // The sequences are long, because it takes several operations on each side before two of them meet.
      const steps = fc.array(step, { minLength: 60, maxLength: 120, size: "max" })
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          const [mine, theirs, alone] = await Promise.all([
            createTenant(context),
            createTenant(context),
            createTenant(context),
          ])
          const together = []
          for (const step of sequence) {
            const outcome = await outcomeOf(
              step.operation,
              context.store,
              step.mine ? mine : theirs,
              step.mine ? "mine" : "theirs",
            )
            if (step.mine) together.push(outcome)
          }
          const separate = []
          for (const step of sequence.filter((each) => each.mine)) {
            separate.push(await outcomeOf(step.operation, context.store, alone, "mine"))
          }
          expect(together).toEqual(separate)
        }),
        { numRuns: 40, endOnFailure: true },
      )
    })

    test("is the same if lookups of sessions share a statement", async () => {
      const callers = [await createTenant(context), await createTenant(context), { tenant: newId() }]
      const expires = new Date(context.clock.now + 1000)
      for (const caller of callers.slice(0, 2)) {
        await context.store.users.create(caller, { id: "u", name: caller.tenant, extra: {} })
        await context.store.sessions.create(caller, { sessionToken: "s", userId: "u", expires, extra: {} })
      }
      const found = await Promise.all(
        [...callers, ...callers, ...callers].map((caller) => context.store.sessions.getWithUser(caller, "s")),
      )
      const names = [callers[0]?.tenant, callers[1]?.tenant, undefined]
      expect(found.map((each) => each?.user.name)).toEqual([...names, ...names, ...names])
    })

    test("is its own data by every way to look up a user", async () => {
      const callers = await Promise.all(range(8).map(() => createTenant(context)))
      const account = { provider: "p", providerAccountId: "a", userId: "u", type: "oauth" as const, extra: {} }
      const expires = new Date(context.clock.now + 1000)
      for (const caller of callers) {
        await context.store.users.create(caller, { id: "u", email: "e@x", name: caller.tenant, extra: {} })
        await context.store.accounts.link(caller, account)
        await context.store.sessions.create(caller, { sessionToken: "t", userId: "u", expires, extra: {} })
      }
      const usersOf = async (caller: (typeof callers)[0]) => [
        await context.store.users.get(caller, "u"),
        await context.store.users.getByEmail(caller, "E@x"),
        await context.store.users.getByAccount(caller, account),
        (await context.store.sessions.getWithUser(caller, "t"))?.user,
      ]
      const own = (caller: (typeof callers)[0]) => Array(4).fill(caller.tenant)
      for (const caller of callers) {
        expect((await usersOf(caller)).map((user) => user?.name)).toEqual(own(caller))
      }
      const together = await Promise.all([...callers, ...callers].map(usersOf))
      expect(together.map((users) => users.map((user) => user?.name))).toEqual([...callers, ...callers].map(own))
    })

    test("is deleted only with the tenant's own user", async () => {
      const [mine, theirs] = [await createTenant(context), await createTenant(context)]
      for (const caller of [mine, theirs]) {
        await context.store.users.create(caller, { id: "u", extra: {} })
        await context.store.accounts.link(caller, {
          ...{ provider: "p", providerAccountId: "a", userId: "u", type: "oauth" as const, extra: {} },
        })
      }
      await context.store.users.delete(mine, "u")
      expect(await context.store.users.get(mine, "u")).toBeNull()
      expect(await context.store.users.getByAccount(theirs, { provider: "p", providerAccountId: "a" })).not.toBeNull()
    })
  })

  describe("tenants", () => {
    test("default exists initially", async () => {
      expect((await context.store.tenants.list({})).map(({ name }) => name)).toContain("default")
    })

    test("create and list; TENANT_ALREADY_EXISTS", async () => {
      const tenant = { name: newId(), created: new Date(context.clock.now) }
      expect(await context.store.tenants.create({}, tenant)).toEqual(tenant)
      expect(await context.other.tenants.list({})).toContainEqual(tenant)
      await expect(context.other.tenants.create({}, tenant)).rejects.toMatchObject({ reason: "TENANT_ALREADY_EXISTS" })
    })

    test("are created with a first key, or not at all", async () => {
      const caller = { tenant: "default" }
      const key = { id: newId().replaceAll("-", ""), name: "first", scopes: ["all"], secretHash: Buffer.alloc(32, 1) }
      const tenant = { name: newId(), created: new Date(context.clock.now) }
      const created = await context.store.tenants.createWithKey(caller, tenant, key)
      expect(created).toEqual({ tenant, key: { ...key, tenant: tenant.name, created: tenant.created } })
      expect(await context.other.apiKeys.get({}, key.id)).toEqual(created.key)
      const other = { ...key, id: newId().replaceAll("-", "") }
      const taken = context.other.tenants.createWithKey(caller, tenant, other)
      await expect(taken).rejects.toMatchObject({ reason: "TENANT_ALREADY_EXISTS" })
      expect(await context.store.apiKeys.get({}, other.id)).toBeNull()
      const unmade = { ...tenant, name: newId() }
      const sameKey = context.other.tenants.createWithKey(caller, unmade, key)
      await expect(sameKey).rejects.toMatchObject({ reason: "API_KEY_ALREADY_EXISTS" })
      expect((await context.store.tenants.list({})).map(({ name }) => name)).not.toContain(unmade.name)
    })

    test("are listed page by page, each once, in the byte order of their names", async () => {
      const caller = { tenant: "default" }
      const names = ["a", "a-", "a0", "0"].map((suffix) => `${newId()}${suffix}`)
      for (const name of names) await context.store.tenants.create({}, { name, created: new Date(context.clock.now) })
      const found: string[] = []
      for (let token: string | undefined, isLast = false; !isLast; isLast = token === undefined) {
        const page = await context.other.tenants.page(caller, { size: 3, token })
        expect(page.items.length).toBeLessThanOrEqual(3)
        found.push(...page.items.map(({ name }) => name))
        token = page.nextToken
      }
      expect(found).toEqual((await context.store.tenants.list({})).map(({ name }) => name).sort())
      expect(found).toEqual(expect.arrayContaining([...names, "default"]))
    })

    test("deleteBatch deletes everything of a tenant in batches, and nothing of another", async () => {
      const [mine, theirs] = [await createTenant(context), await createTenant(context)]
      const { store } = context
      const made = new Date(context.clock.now)
      const [theTenant] = (await store.tenants.list({})).filter(({ name }) => name === mine.tenant)
      for (const caller of [mine, theirs]) {
        const id = newId().replaceAll("-", "")
        await store.apiKeys.create({}, { id, name: "n", tenant: caller.tenant, scopes: ["all"], created: made })
        await store.audit.add({}, [{ ...caller, entry: { created: made, method: "m", code: "OK" } }])
        await store.caches.keep(caller, { process: "p", leaseMs: 1, confirmed: 0, version: 1, ms: 60_000 })
        await store.verificationTokens.create(caller, { identifier: "i", token: "t", expires: made })
        for (const id of ["a", "b", "c"]) {
          const request = { owner: "k", key: `key of ${id}`, digest: () => "d" }
          await store.once(caller, request, async (transaction) => {
            await store.users.create({ ...caller, transaction }, { id, extra: {} })
            return Buffer.from("answer")
          })
          await store.accounts.link(caller, newAccount(id))
          await store.sessions.create(caller, newSession(id, context.clock.now + 1000))
          await store.authenticators.create(caller, newAuthenticator(id))
        }
        await store.events.sequence(caller)
      }
      // A user that is being deleted.
      await context.database.sql("UPDATE users SET deleted = ? WHERE tenant = ? AND id = 'c'", [
        context.database.moment(context.clock.now),
        mine.tenant,
      ])
      const expected = { sessions: 3, accounts: 3, authenticators: 3, idempotency_keys: 3, users: 3, api_keys: 1 }
      const all = { ...expected, audit_entries: 1, caches: 1, verification_tokens: 1, events: 13, event_head: 1 }
      const countsOf = async ({ tenant }: Caller) =>
        Object.fromEntries((await store.tenants.count({}, tenant)).map(({ table, count }) => [table, count]))
      expect(await countsOf(mine)).toEqual(expect.objectContaining(all))
      expect(await store.tenants.mark({}, { name: newId(), deleted: made })).toBe(false)
      expect(await context.other.tenants.mark({}, { name: mine.tenant, deleted: made })).toBe(true)
      expect(await context.other.tenants.mark({}, { name: mine.tenant, deleted: new Date(0) })).toBe(true)
      const batches: string[] = []
      for (;;) {
        const batch = await context.other.tenants.deleteBatch({}, mine.tenant, 2)
        if (batch === null) break
        expect(batch.count).toBeLessThanOrEqual(2)
        batches.push(batch.table)
        if (batch.table !== "tenants")
          expect(await store.tenants.list({})).toContainEqual({ ...theTenant, deleted: made })
      }
      // Whatever adds an event is gone before the last events are. With shards the keys, which are in another keyspace, come after these.
      const inShard = batches.filter((table) => table !== "api_keys")
      expect(inShard.slice(-11)).toEqual(["users", "users", ...range(7).map(() => "events"), "event_head", "tenants"])
      const others = batches.filter((table) => !/^event/.test(table))
      expect(others.slice(-4)).toEqual(["users", "users", "api_keys", "tenants"])
      expect(new Set(Object.values(await countsOf(mine)))).toEqual(new Set([0]))
      expect(await countsOf(theirs)).toEqual(expect.objectContaining(all))
      expect((await store.tenants.list({})).map(({ name }) => name)).not.toContain(mine.tenant)
    })
  })
}

const isHandle = (key: string, value: unknown) => key === "id" && /^[0-9A-F]{32}$/.test(String(value))

async function outcomeOf({ name, run }: Operation, store: Store, caller: Caller, mark: string): Promise<unknown> {
  try {
    const value = await run(store, caller, mark)
    // The ids of sessions are random.
    return {
      name,
      value: JSON.parse(JSON.stringify(value ?? null), (key, one) => (isHandle(key, one) ? undefined : one)),
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return { name, reason: error.reason, message: error.message, field: error.field }
  }
}
