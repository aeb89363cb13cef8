import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { activeStatements } from "@authwire/test-support/databases/server-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  createTenant,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
} from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Caller } from "../store.js"
import { bulk, entities, type SqlStore } from "./index.js"

const created = new Date()

const newWebhook = () => {
  const id = newId().replaceAll("-", "")
  return { id, name: "n", url: "https://example.com/", kinds: [], includeUser: false, created }
}

/** Every write that creates something of a tenant, and not of one of its users. */
const writes: Record<string, (store: SqlStore, caller: Caller) => Promise<unknown>> = {
  users: ({ users }, caller) => users.create(caller, newUser({ email: `${newId()}@example.com` })),
  api_keys: ({ apiKeys }, { tenant }) =>
    apiKeys.create({}, { id: newId().replaceAll("-", ""), name: "n", tenant, scopes: ["all"], created }),
  verification_tokens: ({ verificationTokens }, caller) =>
    verificationTokens.create(caller, { identifier: newId(), token: newId(), expires: created }),
  session_policies: ({ sessions }, caller) => sessions.revokeAll(caller, { provider: newId() }),
  caches: ({ caches }, caller) =>
    caches.keep(caller, { process: newId(), leaseMs: 1, confirmed: 0, version: 1, ms: 60_000 }),
  ended_tokens: ({ signals }, caller) => signals.endTokens(caller, { provider: "p", userId: newId() }),
  idempotency_keys: (store, caller) =>
    store.once(caller, { owner: "o", key: newId(), digest: () => "d" }, async () => Buffer.from("answer")),
  webhooks: async ({ webhooks }, caller) => {
    const { items } = await webhooks.page(caller, { size: 20 })
    // A tenant has at most 20.
    if (items.length > 9) for (const { id } of items.slice(1)) await webhooks.delete(caller, id)
    return webhooks.create(caller, newWebhook(), "whsec_a")
  },
  webhook_deliveries: async ({ webhooks }, caller) => {
    const { items } = await webhooks.page(caller, { size: 1 })
    return webhooks.addTest(caller, (items[0] ?? (await webhooks.create(caller, newWebhook(), "whsec_a"))).id)
  },
  audit_entries: ({ audit }, caller) =>
    audit.together(caller, async () => ({ result: 0, entries: [{ created, method: "m", code: "OK" }] })),
}

describe.each(databaseTargets())("tenants that are being deleted, on %s", (target) => {
  let database: StoreDatabase & TestDatabase
  const stores: SqlStore[] = []
  const [one, other] = [() => stores[0] as SqlStore, () => stores[1] as SqlStore]
  /** The tables with rows of tenants. */
  const tables = () =>
    Object.values(entities(one().database.dialect.types))
      .filter(({ options }) => "tenant" in options.columns)
      .map(({ options }) => String(options.tableName))
  async function rowsOf({ tenant }: Caller): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const table of tables()) {
      const [row] = await database.query(`SELECT COUNT(*) AS n FROM ${table} WHERE tenant = ?`, [tenant])
      counts[table] = Number(row?.n)
    }
    return counts
  }
  const none = () => Object.fromEntries(tables().map((table) => [table, 0]))
  const mark = (store: SqlStore, { tenant }: Caller) => store.tenants.mark({}, { name: tenant, deleted: created })
  async function deleteAll({ tenant }: Caller): Promise<void> {
    while ((await one().tenants.deleteBatch({}, tenant, 50)) !== null);
  }

  beforeAll(async () => {
    database = await createStoreDatabase(target)
    for (let n = 0; n < 2; n++) stores.push((await database.openStore({ eventsKeepMs: 86_400_000 })) as SqlStore)
  })
  afterAll(() => database.drop())

  test("get no row in any table, and leave none", async () => {
    const caller = await createTenant({ store: one() })
    const user = await one().users.create(caller, newUser())
    await one().accounts.link(caller, newAccount(user.id))
    await one().authenticators.create(caller, newAuthenticator(user.id))
    await one().sessions.create(caller, newSession(user.id, Date.now() + 60_000))
    for (const write of Object.values(writes)) await write(one(), caller)
    await one().events.sequence(caller)
    const before = await rowsOf(caller)
    for (const [table, count] of Object.entries(before)) expect([table, count > 0]).toEqual([table, true])

    expect(await mark(other(), caller)).toBe(true)
    for (const store of stores)
      for (const write of Object.values(writes))
        await expect(write(store, caller)).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
    const { users } = bulk(one().database, { tenant: caller.tenant, encryptionKeys })
    const row = { ...newUser(), tenant: caller.tenant }
    await expect(users.write({ missing: [row], changed: [] })).rejects.toMatchObject({ failure: "no-parent" })
    // The entries of other tenants are stored nevertheless.
    const present = await createTenant({ store: one() })
    const entry = { created: new Date(), method: "m", code: "OK" }
    await one().audit.add(
      {},
      [caller, present].map(({ tenant }) => ({ tenant, entry })),
    )
    expect((await rowsOf(present)).audit_entries).toBe(1)
    expect(await rowsOf(caller)).toEqual(before)

    const again = { name: caller.tenant, created }
    await expect(one().tenants.create({}, again)).rejects.toMatchObject({ reason: "TENANT_ALREADY_EXISTS" })
    await deleteAll(caller)
    expect(await rowsOf(caller)).toEqual(none())
    for (const write of [...Object.values(writes), ({ events }: SqlStore) => events.sequence(caller)])
      await expect(write(other(), caller)).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
    await one().tenants.create({}, again)
    expect(await rowsOf(caller)).toEqual(none())
  })

  test("are marked only when the transactions that insert rows without having seen the mark have ended", async () => {
    const caller = await createTenant({ store: one() })
    const [hasInserted, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { users } = one().database.tables
    const inserting = one().database.write({}, [], async (sql) => {
      await sql.write(users.insert, { ...newUser(), tenant: caller.tenant, created, updated: created })
      hasInserted.resolve()
      await mayCommit.promise
    })
    await hasInserted.promise
    // On another member of a cluster the mark meets no lock. There the transaction fails, and runs again.
    const { hasOtherWriters } = one().database
    let isMarked = false
    const marking = mark(other(), caller).finally(() => {
      isMarked = true
    })
    // SQLite has one writer at a time.
    if (target !== "sqlite") {
      const isWaiting = async () =>
        (await activeStatements(database)).some((sql) => /^(UPDATE|SELECT).*\btenants\b/s.test(sql))
      await until(async () => isMarked || (!hasOtherWriters && (await isWaiting())))
    }
    expect(isMarked).toBe(hasOtherWriters)
    mayCommit.resolve()
    if (hasOtherWriters) await expect(inserting).rejects.toMatchObject({ failure: "no-parent" })
    else await inserting
    expect(await marking).toBe(true)
    expect((await rowsOf(caller)).users).toBe(hasOtherWriters ? 0 : 1)
    await deleteAll(caller)
    expect(await rowsOf(caller)).toEqual(none())
  })

  test("S-56: accept nothing from the mark on, while two replicas write, and a new one of the name begins empty", async () => {
    const caller = await createTenant({ store: one() })
    let isMarked = false
    const late: string[] = []
    let count = 0
    const writers = stores.flatMap((store) =>
      Object.entries(writes).map(async ([table, write]) => {
        for (;;) {
          const began = isMarked
          try {
            await write(store, caller)
            count++
            if (began) late.push(table)
          } catch (error) {
            expect(error).toMatchObject({ reason: "TENANT_NOT_FOUND" })
            return
          }
        }
      }),
    )
    await until(() => count > 50)
    await mark(one(), caller)
    isMarked = true
    await Promise.all(writers)
    expect(late).toEqual([])
    // A user can still be deleted, which adds an event.
    const users = await database.query("SELECT id FROM users WHERE tenant = ?", [caller.tenant])
    const deletions = users.map(({ id }) => other().users.delete(caller, String(id)))
    await Promise.all([deleteAll(caller), ...deletions])
    await one().tenants.create({}, { name: caller.tenant, created })
    expect(await rowsOf(caller)).toEqual(none())
  })
})
