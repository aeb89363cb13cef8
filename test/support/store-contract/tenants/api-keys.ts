import { describe, expect, test } from "@jest/globals"
import type { ApiKey } from "../../../../server/src/store/types.js"
import { anyone, type ContractContext, day, newId, range } from "../context.js"

export function apiKeyContract(context: ContractContext): void {
  const newKey = (key: Partial<ApiKey> = {}): ApiKey => ({
    id: newId().replaceAll("-", ""),
    name: "Zoë's key",
    tenant: "default",
    scopes: ["users:read", "sessions:read"],
    secretHash: Buffer.alloc(32, 5),
    created: new Date(context.clock.now),
    ...key,
  })
  const validIds = async () => {
    const ids: string[] = []
    let after: string | undefined = ""
    while (after !== undefined) {
      const { keys, next } = await context.other.apiKeys.listValid({}, new Date(context.clock.now), after)
      ids.push(...keys.map(({ id }) => id))
      after = next
    }
    return ids
  }

  describe("create", () => {
    test.each<[string, Partial<ApiKey>]>([
      ["with a secret", {}],
      ["that ends", { expires: new Date(Date.UTC(2031, 0, 1)) }],
      ["of a certificate", { secretHash: undefined, certificateName: "DNS:app.internal", scopes: ["all"] }],
    ])("keeps a key %s exactly", async (_, given) => {
      const key = newKey(given)
      expect(await context.store.apiKeys.create({}, key)).toEqual(key)
      expect(await context.other.apiKeys.get({}, key.id)).toEqual(key)
      expect(await context.other.apiKeys.list({})).toContainEqual(key)
    })

    test("API_KEY_ALREADY_EXISTS and TENANT_NOT_FOUND; nothing is kept", async () => {
      const key = await context.store.apiKeys.create({}, newKey())
      await expect(context.store.apiKeys.create({}, { ...key, name: "another" })).rejects.toMatchObject({
        reason: "API_KEY_ALREADY_EXISTS",
      })
      expect(await context.store.apiKeys.get({}, key.id)).toEqual(key)
      const stray = newKey({ tenant: newId() })
      await expect(context.store.apiKeys.create({}, stray)).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
      expect(await context.store.apiKeys.get({}, stray.id)).toBeNull()
    })
  })

  describe("the keys of a tenant", () => {
    const ownTenant = async () => {
      const tenant = newId()
      await context.store.tenants.create({}, { name: tenant, created: new Date(context.clock.now) })
      return { tenant }
    }
    test("are listed once each, in the order of their ids, with those that were revoked, and none of another tenant", async () => {
      const caller = await ownTenant()
      await context.store.apiKeys.create({}, newKey())
      const ids: string[] = []
      for (const _ of range(20)) {
        const { id } = await context.store.apiKeys.create({}, newKey(caller))
        ids.push(id)
      }
      await context.store.apiKeys.revoke({}, ids[3] as string, new Date(context.clock.now), caller.tenant)
      const found: string[] = []
      let token: string | undefined
      do {
        const page = await context.other.apiKeys.page(caller, { size: 7, token })
        found.push(...page.items.map(({ id }) => id))
        expect(page.items.every(({ tenant }) => tenant === caller.tenant)).toBe(true)
        token = page.nextToken
        if (token !== undefined) {
          const other = context.store.apiKeys.page(anyone, { size: 7, token })
          await expect(other).rejects.toMatchObject({ reason: "INVALID_FIELD", field: "page_token" })
        }
      } while (token !== undefined)
      expect(found).toEqual(ids.toSorted())
    })

    test("INVALID_FIELD: the end has passed, or the tenant has 1,000 keys; one that was revoked a minute ago makes room", async () => {
      const caller = await ownTenant()
      const create = (key = {}) => context.store.apiKeys.create({}, newKey({ ...caller, ...key }), { isLimited: true })
      await expect(create({ expires: new Date(context.clock.now) })).rejects.toMatchObject({ field: "expire_time" })
      const first = await create()
      for (const _ of range(999)) await context.store.apiKeys.create({}, newKey(caller))
      await expect(create()).rejects.toMatchObject({ reason: "INVALID_FIELD", field: "name" })
      await context.store.apiKeys.revoke({}, first.id, new Date(context.clock.now), caller.tenant)
      await expect(create()).rejects.toMatchObject({ field: "name" })
      context.clock.now += 60_000
      await create()
      expect(await context.store.apiKeys.get({}, first.id)).toBeNull()
      const count = "SELECT COUNT(*) AS n FROM api_keys WHERE tenant = ?"
      expect(Number((await context.database.sql(count, [caller.tenant]))[0]?.n)).toBe(1_000)
      await expect(create()).rejects.toMatchObject({ field: "name" })
    }, 60_000)
  })

  describe("listValid", () => {
    test("returns the keys that are neither revoked nor expired", async () => {
      const [plain, later, expired, revoked] = [
        newKey(),
        newKey({ expires: new Date(context.clock.now + day) }),
        newKey({ expires: new Date(context.clock.now) }),
        newKey({ revoked: new Date(context.clock.now - day) }),
      ] as [ApiKey, ApiKey, ApiKey, ApiKey]
      for (const key of [plain, later, expired, revoked]) await context.store.apiKeys.create({}, key)
      const ids = await validIds()
      expect(ids).toEqual(expect.arrayContaining([plain.id, later.id]))
      for (const { id } of [expired, revoked]) expect(ids).not.toContain(id)
    })

    test("returns expired keys with a certificate name, unless they are revoked", async () => {
      const named = { certificateName: "DNS:app.internal", expires: new Date(context.clock.now - day) }
      const [expired, revoked] = [newKey(named), newKey({ ...named, revoked: new Date(context.clock.now) })]
      for (const key of [expired, revoked]) await context.store.apiKeys.create({}, key)
      const ids = await validIds()
      expect(ids).toContain(expired.id)
      expect(ids).not.toContain(revoked.id)
    })
  })

  describe("listChanges", () => {
    test("returns keys that were created, changed or revoked since an earlier call, by whomever", async () => {
      const [revoked, changed, same] = [newKey(), newKey(), newKey()]
      for (const key of [revoked, changed, same]) await context.store.apiKeys.create({}, key)
      const { changes, until } = await context.store.apiKeys.listChanges({}, undefined)
      expect(changes).toEqual([])
      // As if the keys had been created a minute before.
      const since = new Date(until.getTime() + 60_000)
      const ids = [revoked.id, changed.id, same.id]
      const later = async () =>
        (await context.store.apiKeys.listChanges({}, since)).changes.filter(({ id }) => ids.includes(id))
      expect(await later()).toEqual([])
      const found = async () =>
        (await context.store.apiKeys.listChanges({}, until)).changes.filter(({ id }) => ids.includes(id))
      expect((await found()).map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
      await context.other.apiKeys.revoke({}, revoked.id, new Date(context.clock.now))
      await context.database.sql("UPDATE api_keys SET name = 'by hand' WHERE id = ?", [changed.id])
      expect(await found()).toEqual(
        expect.arrayContaining([
          { id: revoked.id, key: undefined },
          { id: changed.id, key: { ...changed, name: "by hand" } },
          { id: same.id, key: same },
        ]),
      )
      const times = await context.database.sql("SELECT id, changed FROM api_keys WHERE id IN (?, ?)", [
        changed.id,
        same.id,
      ])
      const timeOf = (id: string) => times.find((row) => row.id === id)?.changed as number
      expect(timeOf(changed.id)).toBeGreaterThan(timeOf(same.id))
    })
  })

  describe("revoke", () => {
    test("takes effect at once on every store, and keeps the first date", async () => {
      const key = await context.store.apiKeys.create({}, newKey())
      const revoked = new Date(context.clock.now + 5)
      expect(await context.other.apiKeys.revoke({}, key.id, revoked)).toEqual({ ...key, revoked })
      expect(await validIds()).not.toContain(key.id)
      const later = new Date(context.clock.now + day)
      expect(await context.store.apiKeys.revoke({}, key.id, later)).toEqual({ ...key, revoked })
    })

    test("of a tenant, concerns no key of another", async () => {
      const key = await context.store.apiKeys.create({}, newKey())
      const revoked = new Date(context.clock.now)
      expect(await context.store.apiKeys.revoke({}, key.id, revoked, "another")).toBeNull()
      expect(await context.other.apiKeys.get({}, key.id)).toEqual(key)
      expect(await context.store.apiKeys.revoke({}, key.id, revoked, anyone.tenant)).toEqual({ ...key, revoked })
    })

    test("null: no such key", async () => {
      expect(await context.store.apiKeys.revoke({}, "nothing", new Date(0))).toBeNull()
    })
  })
}
