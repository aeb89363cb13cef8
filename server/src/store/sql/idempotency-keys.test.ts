import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { altered } from "@authwire/test-support/schema/altered.js"
import { anyone, newId, newUser } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { openSqlStore, type SqlStore } from "./index.js"

// Write access to the database must not be enough to forge an answer of the service, because an answer can sign a user
// in.
describe.each(databaseTargets())("answers that are kept, on %s", (target) => {
  let database: StoreDatabase & TestDatabase
  const stores: SqlStore[] = []
  const keyOf = (letter: string) => Buffer.alloc(32, letter)
  const open = async (...encryptionKeys: Buffer[]) => {
    const store = await openSqlStore({ url: database.url, encryptionKeys })
    stores.push(store)
    return store
  }

  beforeAll(async () => {
    database = await createStoreDatabase(target, { tenants: ["another"] })
  })
  afterAll(async () => {
    for (const store of stores) await store.close()
    await database.drop()
  })

  const request = (key: string) => ({ owner: "owner", key, digest: () => "digest" })
  const ask = async (store: SqlStore, key: string, tenant = anyone.tenant) => {
    const caller = { tenant }
    const bytes = await store.once(caller, request(key), async (transaction) => {
      const { id } = await store.users.create({ ...caller, transaction }, newUser())
      return Buffer.from(id)
    })
    return Buffer.from(bytes).toString()
  }
  const setAnswer = (to: string, of: string) =>
    database.query("UPDATE idempotency_keys SET answer = ? WHERE answer = ?", [to, of])
  /** Returns the stored answer of a call that is made now. */
  const answerOf = async (store: SqlStore, key: string, tenant?: string) => {
    const known = new Set((await database.sql("SELECT answer FROM idempotency_keys")).map(({ answer }) => answer))
    await ask(store, key, tenant)
    const rows = await database.sql("SELECT answer FROM idempotency_keys")
    return String(rows.find(({ answer }) => !known.has(answer))?.answer)
  }
  const unreadable = { reason: "ENCRYPTION_KEY_MISSING" }

  test("opens with each of the configured encryption keys, and with no other", async () => {
    const key = newId()
    const id = await ask(await open(keyOf("a")), key)
    expect(await ask(await open(keyOf("b"), keyOf("a")), key)).toBe(id)
    await expect(ask(await open(keyOf("b")), key)).rejects.toMatchObject(unreadable)
  })

  test("S-14: one that is not sealed or was changed is rejected", async () => {
    const store = await open(keyOf("a"))
    const key = newId()
    const answer = await answerOf(store, key)
    const forged = `digest ${Buffer.from("admin").toString("base64")}`
    for (const other of [forged, "", altered(answer)]) {
      await setAnswer(other, answer)
      await expect(ask(store, key)).rejects.toMatchObject(unreadable)
      await setAnswer(answer, other)
    }
    await ask(store, key)
  })

  test("S-14: one that was copied from another key or tenant is rejected", async () => {
    const store = await open(keyOf("a"))
    const [one, other] = [newId(), newId()]
    const answer = await answerOf(store, one)
    for (const copied of [await answerOf(store, other), await answerOf(store, one, "another")]) {
      await setAnswer(`kept ${copied}`, copied)
      await setAnswer(copied, answer)
      await expect(ask(store, one)).rejects.toMatchObject(unreadable)
      await setAnswer(answer, copied)
    }
    await ask(store, one)
  })
})
