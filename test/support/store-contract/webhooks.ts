import { describe, expect, test } from "@jest/globals"
import type { Store } from "../../../server/src/store/store.js"
import type { ActiveWebhook, Webhook, WebhookAttempts, WebhookMessage } from "../../../server/src/store/types.js"
import {
  anyone,
  type ContractContext,
  createTenant,
  day,
  encryptionKeys,
  expiredRows,
  newId,
  newUser,
  outcomes,
  range,
} from "./context.js"

export function webhookContract(context: ContractContext): void {
  type Tenant = { tenant: string }
  const at = (ms: number) => new Date(context.clock.now + ms)
  const newWebhook = (more: Partial<Webhook> = {}): Webhook => ({
    id: newId().replaceAll("-", ""),
    ...{ name: "n", url: "https://example.com/", kinds: [], includeUser: false, created: at(0) },
    ...more,
  })
  const create = async (caller: Tenant, more?: Partial<Webhook>) =>
    (await context.store.webhooks.create(caller, newWebhook(more), `whsec_${newId()}`)).id
  /** A webhook in a tenant of its own. */
  const newCaller = async (more?: Partial<Webhook>) => {
    const caller = await createTenant(context)
    return { caller, id: await create(caller, more) }
  }
  const message = (sequence: number, userId = "u"): WebhookMessage => ({
    ...{ kind: "user.updated", sequence, userId, created: at(sequence) },
  })
  const activeOf = async (id: string) =>
    (await context.other.webhooks.active({})).find((one) => one.id === id) as ActiveWebhook
  /** Adds deliveries of the events 1 to `count`. */
  const add = async (caller: Tenant, id: string, count: number) => {
    const messages = range(count).map((n) => message(n + 1))
    expect(await context.store.webhooks.add(caller, id, { after: 0, position: count, messages })).toBe(true)
  }
  const numbers = async (caller: Tenant, id: string) =>
    (await context.other.webhooks.pending(caller, id)).map(({ number }) => number)
  const listed = async (caller: Tenant, webhookId: string, store: Store = context.other) =>
    (await store.webhooks.deliveries(caller, { webhookId }, { size: 100 })).items
  const failed: WebhookAttempts = {
    ...{ pending: true, attempts: 3, status: 500, failure: undefined, durationMs: 12 },
    ...{ lastAttempt: new Date(1_700_000_000_123), nextAttempt: new Date(1_900_000_000_123) },
  }
  const accepted: WebhookAttempts = { ...failed, pending: false, nextAttempt: undefined, status: 204 }

  describe("create, page, update, delete", () => {
    test("a webhook is what was given, in the order of the ids", async () => {
      const caller = await createTenant(context)
      const given = [
        newWebhook({ kinds: ["user.created", "user.deleted"], includeUser: true, name: "Zoë" }),
        newWebhook(),
      ]
      for (const one of given) expect(await context.store.webhooks.create(caller, one, "whsec_a")).toEqual(one)
      const sorted = given.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      const { items, nextToken } = await context.other.webhooks.page(caller, { size: 1 })
      const rest = await context.other.webhooks.page(caller, { size: 2, token: nextToken as string })
      expect([...items, ...rest.items]).toEqual(sorted)
      expect(rest.nextToken).toBeUndefined()
    })

    test("update changes what it is given; disabling again keeps the time and the reason", async () => {
      const { caller, id } = await newCaller()
      const { webhooks } = context.store
      const changed = { name: "m", url: "https://example.org/", kinds: ["user.created" as const], includeUser: true }
      expect(await webhooks.update(caller, id, changed)).toMatchObject({ id, ...changed })
      expect(await webhooks.update(caller, id, { name: "k" })).toMatchObject({ ...changed, name: "k" })
      const gone = { disabled: at(1), disableReason: "gone" }
      expect(await webhooks.update(caller, id, { disabled: { at: at(1), reason: "gone" } })).toMatchObject(gone)
      expect(await activeOf(id)).toBeUndefined()
      expect(await webhooks.update(caller, id, { disabled: { at: at(2), reason: "failing" } })).toMatchObject(gone)
      const enabled = await webhooks.update(caller, id, { disabled: null })
      expect([enabled?.disabled, enabled?.disableReason]).toEqual([undefined, undefined])
      expect(await activeOf(id)).toMatchObject({ ...changed, name: "k", tenant: caller.tenant })
      expect(await webhooks.delete(caller, id)).toEqual(enabled)
      expect(await webhooks.delete(caller, id)).toBeNull()
      expect((await webhooks.page(caller, { size: 9 })).items).toEqual([])
    })

    test("each change, and each of its deliveries by a call, gives it another version", async () => {
      const { caller, id } = await newCaller()
      const { webhooks } = context.store
      const versions = new Set([(await activeOf(id)).version])
      const changes = [
        () => webhooks.update(caller, id, { name: "m" }),
        () => webhooks.rotateSecret(caller, id, { secret: "whsec_b", previousUntil: at(day) }),
        () => webhooks.addTest(caller, id),
        () => webhooks.redeliver(caller, { webhookId: id, number: 1 }),
      ]
      for (const change of changes) {
        expect(await change()).not.toBeNull()
        versions.add((await activeOf(id)).version)
      }
      expect(versions.size).toBe(changes.length + 1)
    })

    test("a tenant that does not exist has none", async () => {
      const created = context.store.webhooks.create({ tenant: "nobody" }, newWebhook(), "whsec_a")
      await expect(created).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
    })

    test("of simultaneous creations in two processes exactly 20 succeed", async () => {
      const { caller, id } = await newCaller()
      const creations = range(30).map((n) =>
        (n % 2 ? context.store : context.other).webhooks.create(caller, newWebhook(), "whsec_a"),
      )
      expect(await outcomes(creations)).toEqual({ ok: 19, INVALID_FIELD: 11 })
      expect((await context.store.webhooks.page(caller, { size: 99 })).items).toHaveLength(20)
      await context.store.webhooks.delete(caller, id)
      await create(caller)
      await expect(create(caller)).rejects.toMatchObject({ reason: "INVALID_FIELD", field: "name" })
    }, 60_000)

    test("a new one stands behind the events that are there", async () => {
      const caller = await createTenant(context)
      for (const _ of range(3)) await context.store.users.create(caller, newUser())
      const id = await create(caller)
      const { last } = await context.store.events.history(caller)
      expect(await activeOf(id)).toMatchObject({ position: last })
      expect(last).toBeGreaterThanOrEqual(3)
    })
  })

  describe("secrets", () => {
    const sealedOf = async (id: string) =>
      (await context.database.sql("SELECT secrets FROM webhooks WHERE id = ?", [id])).map(({ secrets }) =>
        String(secrets),
      )

    test("the database has none of their text, and the previous one signs until its time", async () => {
      const { caller } = await newCaller()
      const { webhooks } = context.store
      const { id } = await webhooks.create(caller, newWebhook(), "whsec_first")
      expect(await context.other.webhooks.secrets(caller, id)).toEqual(["whsec_first"])
      const rotated = await webhooks.rotateSecret(caller, id, { secret: "whsec_second", previousUntil: at(1000) })
      expect(rotated).toMatchObject({ id, previousSecretUntil: at(1000) })
      expect(await context.other.webhooks.secrets(caller, id)).toEqual(["whsec_second", "whsec_first"])
      expect(await sealedOf(id)).toEqual([expect.not.stringMatching(/whsec|first|second/)])
      context.clock.now += 1000
      expect(await context.other.webhooks.secrets(caller, id)).toEqual(["whsec_second"])
      await webhooks.rotateSecret(caller, id, { secret: "whsec_third", previousUntil: at(1000) })
      expect(await context.other.webhooks.secrets(caller, id)).toEqual(["whsec_third", "whsec_second"])
    })

    test("another encryption key opens none, and those of another webhook are not accepted", async () => {
      const { caller, id } = await newCaller()
      const stranger = await context.database.openStore({ encryptionKeys: [Buffer.alloc(32, 7)] })
      const missing = { reason: "ENCRYPTION_KEY_MISSING" }
      await expect(stranger.webhooks.secrets(caller, id)).rejects.toMatchObject(missing)
      const rotated = stranger.webhooks.rotateSecret(caller, id, { secret: "whsec_b", previousUntil: at(day) })
      await expect(rotated).rejects.toMatchObject(missing)
      const other = await create(caller)
      const [copied] = await sealedOf(other)
      await context.database.sql("UPDATE webhooks SET secrets = ? WHERE tenant = ? AND id = ?", [
        ...[copied, caller.tenant, id],
      ])
      await expect(context.store.webhooks.secrets(caller, id)).rejects.toMatchObject(missing)
      const both = await context.database.openStore({ encryptionKeys: [Buffer.alloc(32, 7), ...encryptionKeys] })
      expect(await both.webhooks.secrets(caller, other)).toHaveLength(1)
    })
  })

  describe("add", () => {
    test("of calls from one position, in two processes, one adds", async () => {
      const { caller, id } = await newCaller()
      for (const after of [0, 10, 20]) {
        const messages = range(10).map((n) => message(after + n + 1))
        const added = range(10).map((n) =>
          (n % 2 ? context.store : context.other).webhooks.add(caller, id, { after, position: after + 10, messages }),
        )
        expect((await Promise.all(added)).filter((isAdded) => isAdded)).toHaveLength(1)
      }
      expect(await activeOf(id)).toMatchObject({ position: 30 })
      const found = await context.other.webhooks.pending(caller, id)
      expect(found.map(({ number, sequence }) => [number, sequence])).toEqual(range(30).map((n) => [n + 1, n + 1]))
      expect(found[0]).toEqual({
        ...message(1),
        webhookId: id,
        number: 1,
        pending: true,
        attempts: 0,
        nextAttempt: at(0),
      })
    }, 60_000)

    test("the numbers have no gap, whatever is added at the same time", async () => {
      const { caller, id } = await newCaller()
      const stores = [context.store, context.other]
      const tests = range(12).map((n) => (stores[n % 2] as Store).webhooks.addTest(caller, id))
      const added = stores.map(async ({ webhooks }) => {
        for (let after = 0; after < 20; after += 5)
          await webhooks.add(caller, id, {
            after,
            position: after + 5,
            messages: range(5).map((n) => message(after + n)),
          })
      })
      await Promise.all([...tests, ...added])
      expect(await numbers(caller, id)).toEqual(range(32).map((n) => n + 1))
    }, 60_000)

    test("events that it does not ask for move its position only", async () => {
      const { caller, id } = await newCaller()
      expect(await context.store.webhooks.add(caller, id, { after: 0, position: 7, messages: [] })).toBe(true)
      expect(await activeOf(id)).toMatchObject({ position: 7 })
      await add(caller, await create(caller), 1)
      expect(await numbers(caller, id)).toEqual([])
    })

    test("a webhook that was deleted gets none", async () => {
      const { caller, id } = await newCaller()
      await context.store.webhooks.delete(caller, id)
      const added = { after: 0, position: 1, messages: [message(1)] }
      expect(await context.store.webhooks.add(caller, id, added)).toBe(false)
      expect(await context.store.webhooks.addTest(caller, id)).toBeNull()
      expect(await context.database.sql("SELECT number FROM webhook_deliveries WHERE webhook_id = ?", [id])).toEqual([])
    })
  })

  describe("deliveries", () => {
    test("what was accepted is no longer pending; the list has all, the newest first", async () => {
      const { caller, id } = await newCaller()
      await add(caller, id, 3)
      await context.store.webhooks.record(caller, { webhookId: id, number: 2 }, accepted)
      await context.store.webhooks.record(caller, { webhookId: id, number: 3 }, failed)
      expect(await numbers(caller, id)).toEqual([1, 3])
      expect((await context.other.webhooks.pending(caller, id, 1)).map(({ number }) => number)).toEqual([3])
      const all = await listed(caller, id)
      expect(all.map(({ number }) => number)).toEqual([3, 2, 1])
      expect(all[0]).toEqual({ ...message(3), webhookId: id, number: 3, ...failed })
      expect(all[1]).toEqual({ ...message(2), webhookId: id, number: 2, ...accepted })
      for (const [pending, expected] of [
        [true, [3, 1]],
        [false, [2]],
      ] as const) {
        const { items } = await context.other.webhooks.deliveries(caller, { webhookId: id, pending }, { size: 9 })
        expect(items.map(({ number }) => number)).toEqual(expected)
      }
      const { items, nextToken } = await context.other.webhooks.deliveries(caller, { webhookId: id }, { size: 2 })
      const page = { size: 2, token: nextToken as string }
      const rest = await context.other.webhooks.deliveries(caller, { webhookId: id }, page)
      expect([...items, ...rest.items]).toEqual(all)
    })

    test("redeliver makes one pending, as if it had never been attempted", async () => {
      const { caller, id } = await newCaller()
      await add(caller, id, 1)
      const key = { webhookId: id, number: 1 }
      await context.store.webhooks.record(caller, key, { ...accepted, attempts: 14 })
      context.clock.now += 5
      const again = { ...key, pending: true, attempts: 0, nextAttempt: at(0) }
      expect(await context.other.webhooks.redeliver(caller, key)).toMatchObject(again)
      expect(await context.store.webhooks.pending(caller, id)).toEqual([expect.objectContaining(again)])
      expect(await context.store.webhooks.redeliver(caller, { webhookId: id, number: 2 })).toBeNull()
    })

    test("enabling begins again with what has failed, and leaves the rest", async () => {
      const { caller, id } = await newCaller()
      const { webhooks } = context.store
      await add(caller, id, 3)
      await webhooks.record(caller, { webhookId: id, number: 1 }, { ...failed, attempts: 14 })
      await webhooks.record(caller, { webhookId: id, number: 2 }, accepted)
      await webhooks.update(caller, id, { disabled: { at: at(0), reason: "failing" } })
      const other = await create(caller)
      await add(caller, other, 1)
      await webhooks.record(caller, { webhookId: other, number: 1 }, failed)
      context.clock.now += 5
      await webhooks.update(caller, id, { name: "still disabled" })
      expect((await listed(caller, id)).map(({ attempts }) => attempts)).toEqual([0, 3, 14])
      await webhooks.update(caller, id, { disabled: null })
      expect(await listed(caller, id)).toMatchObject([
        { number: 3, pending: true, attempts: 0, nextAttempt: at(-5) },
        { number: 2, pending: false, attempts: 3 },
        { number: 1, pending: true, attempts: 0, nextAttempt: at(0), status: 500 },
      ])
      expect((await listed(caller, other)).map(({ attempts }) => attempts)).toEqual([3])
    })

    test("those of a deleted webhook exist for no call; they are deleted 5 days after they were accepted, or else after 30", async () => {
      const { caller, id } = await newCaller()
      // A time that no other test uses.
      const now = context.clock.now
      context.clock.now = Date.UTC(1993, 0, 1)
      await add(caller, id, 3)
      await context.store.webhooks.record(caller, { webhookId: id, number: 1 }, failed)
      await context.store.webhooks.record(caller, { webhookId: id, number: 2 }, accepted)
      const [soon, late] = [context.clock.now + 5 * day, context.clock.now + 30 * day] as const
      context.clock.now = now
      await context.store.webhooks.delete(caller, id)
      expect(await listed(caller, id)).toEqual([])
      expect(await context.store.webhooks.redeliver(caller, { webhookId: id, number: 1 })).toBeNull()
      expect(await context.store.webhooks.secrets(caller, id)).toEqual([])
      const rows = expiredRows(context.store, "webhook_deliveries")
      for (const [expires, count] of [
        [soon, 1],
        [late, 2],
      ] as const) {
        const from = new Date(expires - day)
        expect(await rows.deleteBatch({}, { from, before: new Date(expires), limit: 10 })).toBeNull()
        const before = new Date(expires + 1)
        expect(await rows.deleteBatch({}, { from, before, limit: 10 })).toMatchObject({ count })
      }
      await context.store.webhooks.record(caller, { webhookId: id, number: 1 }, failed)
      expect(await context.database.sql("SELECT number FROM webhook_deliveries WHERE webhook_id = ?", [id])).toEqual([])
    })
  })

  test("another tenant sees and changes nothing", async () => {
    const { caller, id } = await newCaller()
    await add(caller, id, 1)
    const before = [(await context.store.webhooks.page(caller, { size: 9 })).items, await listed(caller, id)]
    for (const stranger of [anyone, await createTenant(context)]) {
      const { webhooks } = context.store
      expect((await webhooks.page(stranger, { size: 1000 })).items.map((one) => one.id)).not.toContain(id)
      for (const answer of [
        await webhooks.update(stranger, id, { name: "mine" }),
        await webhooks.delete(stranger, id),
        await webhooks.rotateSecret(stranger, id, { secret: "whsec_mine", previousUntil: at(day) }),
        await webhooks.addTest(stranger, id),
        await webhooks.redeliver(stranger, { webhookId: id, number: 1 }),
      ])
        expect(answer).toBeNull()
      expect(await listed(stranger, id)).toEqual([])
      expect(await webhooks.pending(stranger, id)).toEqual([])
      expect(await webhooks.secrets(stranger, id)).toEqual([])
      await webhooks.record(stranger, { webhookId: id, number: 1 }, accepted)
    }
    expect([(await context.store.webhooks.page(caller, { size: 9 })).items, await listed(caller, id)]).toEqual(before)
  })

  test("a tenant that is deleted leaves nothing", async () => {
    const { caller, id } = await newCaller()
    await add(caller, id, 3)
    await context.store.webhooks.delete(caller, await create(caller))
    const left = async () =>
      (
        await Promise.all(
          ["webhooks", "webhook_deliveries"].map((table) =>
            context.database.sql(`SELECT tenant FROM ${table} WHERE tenant = ?`, [caller.tenant]),
          ),
        )
      ).map(({ length }) => length)
    expect(await left()).toEqual([1, 3])
    await context.store.tenants.mark({}, { name: caller.tenant, deleted: at(0) })
    while ((await context.store.tenants.deleteBatch({}, caller.tenant, 2)) !== null);
    expect(await left()).toEqual([0, 0])
    expect(await activeOf(id)).toBeUndefined()
  })
}
