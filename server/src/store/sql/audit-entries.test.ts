import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { createTenant, encryptionKeys, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Caller } from "../store.js"
import type { AuditEntry } from "../types.js"
import { openSqlStore, type SqlStore } from "./index.js"

describe.each(databaseTargets())("entries of several tenants, on %s", (target) => {
  let database: StoreDatabase & TestDatabase
  let store: SqlStore
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    store = await openSqlStore({ url: database.url, encryptionKeys, longestWaitMs: 100 })
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  const tenants = () => Promise.all(range(3).map(() => createTenant({ store }))) as Promise<[Caller, Caller, Caller]>
  const entry: AuditEntry = { created: new Date(Date.now() + 60_000), method: "m", code: "OK" }
  const countOf = async (caller: Caller) => (await store.audit.list(caller, {}, { size: 10 })).items.length

  test("are stored although those of one tenant cannot be", async () => {
    const [bad, ...others] = await tenants()
    const entries = [bad, ...others].map(({ tenant }) => ({ tenant, entry }))
    // JSON has no form of such a number.
    const invalid = { ...entry, fields: { n: 1n as never } }
    const failed = await store.audit.add({}, [...entries, { tenant: bad.tenant, entry: invalid }])
    expect([...failed.keys()]).toEqual([bad.tenant])
    expect(await Promise.all([bad, ...others].map(countOf))).toEqual([0, 1, 1])
  })

  test("of an earlier tenant are not stored for a later one of the name", async () => {
    const [{ tenant }] = await tenants()
    await store.tenants.mark({}, { name: tenant, deleted: new Date(0) })
    while ((await store.tenants.deleteBatch({}, tenant, 10)) !== null);
    const { created } = await store.tenants.create({}, { name: tenant, created: new Date(100_000) })
    const at = (ms: number) => ({ ...entry, created: new Date(created.getTime() + ms) })
    const entries = [-2, -1, 0, 1].map((ms) => ({ tenant, entry: at(ms) }))
    expect(await store.audit.add({}, entries)).toEqual(new Map())
    expect(await store.audit.add({}, entries.slice(0, 2))).toEqual(new Map())
    expect((await store.audit.list({ tenant }, {}, { size: 10 })).items).toEqual([at(1), at(0)])
  })

  // SQLite has one lock for all rows.
  if (target !== "sqlite")
    test("are stored although the row of one tenant is locked", async () => {
      const [locked, ...others] = await tenants()
      await database.sql("BEGIN")
      await database.sql("UPDATE tenants SET created = created WHERE name = ?", [locked.tenant])
      await database.sql("SELECT * FROM tenants WHERE name = ? FOR UPDATE", [locked.tenant])
      const entries = [locked, ...others].map(({ tenant }) => ({ tenant, entry }))
      const failed = await store.audit.add({}, entries)
      await database.sql("COMMIT")
      expect([...failed]).toEqual([[locked.tenant, expect.objectContaining({ reason: "CONFLICT" })]])
      expect(await Promise.all([locked, ...others].map(countOf))).toEqual([0, 1, 1])
    })
})
