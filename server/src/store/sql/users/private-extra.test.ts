import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newId,
  newSession,
  oddExtra,
} from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { bulk, type Database, jsonText, openDatabase, rekey, sqlStore } from "../index.js"

const hashed = "$2b$12$a-hash-that-nobody-may-see"
const privateExtra = { ...oddExtra, passwordHash: hashed, totp_secret: null }

describe.each(databaseTargets())("private properties of users on %s", (target) => {
  let tables: StoreDatabase & TestDatabase
  let database: Database
  const storeWith = (...keys: Buffer[]) => sqlStore(database, { encryptionKeys: keys })
  const store = () => storeWith(...encryptionKeys)
  const users = () => bulk(database, { tenant: "default", encryptionKeys }).users
  const rowOf = (id: string, hidden: string | undefined = jsonText(privateExtra)) => ({
    ...{ tenant: "default", id, email: `${id}@example.com`, emailKey: `${id}@example.com`, extra: { nickname: "Ada" } },
    privateExtra: hidden,
  })
  const write = async (id: string) => {
    await users().write({ missing: [rowOf(id)], changed: [] })
    return id
  }
  const cellOf = async (id: string) =>
    (await tables.sql("SELECT private_extra AS cell FROM users WHERE id = ?", [id]))[0]?.cell as string

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url })
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  test("S-11: are written in bulk, sealed, and returned by their own method alone", async () => {
    const id = await write(newId())
    expect(await cellOf(id)).toMatch(/^sealed\.1\./)
    expect(await store().users.getPrivateExtra(anyone, id)).toStrictEqual(privateExtra)
    expect(await store().users.getPrivateExtra({ tenant: "other" }, id)).toBeNull()
    expect(await store().users.getPrivateExtra(anyone, newId())).toBeNull()
    const plain = await store().users.create(anyone, { id: newId(), extra: {} })
    expect(await store().users.getPrivateExtra(anyone, plain.id)).toEqual({})

    const session = newSession(id, Date.now() + 3_600_000)
    const account = newAccount(id)
    await store().sessions.create(anyone, session)
    await store().accounts.link(anyone, account)
    const email = `${id}@example.com`
    const all = [
      await store().users.get(anyone, id),
      await store().users.getByEmail(anyone, email),
      await store().users.getByAccount(anyone, account),
      await store().users.list(anyone, { email }, { size: 9 }),
      await store().users.list(anyone, {}, { size: 9 }),
      await store().sessions.getWithUser(anyone, session.sessionToken),
      await store().users.update(anyone, id, { name: "Ada", extra: { passwordHash: "given" } }),
    ]
    for (const one of all) {
      expect(JSON.stringify(one)).toContain("nickname")
      expect(JSON.stringify(one)).not.toMatch(/nobody-may-see|sealed|private/i)
    }
    // The update has changed `extra` and left the private properties as they were.
    expect(await store().users.getPrivateExtra(anyone, id)).toEqual(privateExtra)
    expect(JSON.stringify(await store().users.delete(anyone, id))).not.toMatch(/nobody-may-see|sealed|private/i)
    expect(await store().users.getPrivateExtra(anyone, id)).toBeNull()
  })

  test("are compared, changed and removed in bulk", async () => {
    const id = await write(newId())
    expect(await users().differences([rowOf(id)])).toEqual({ missing: [], changed: [] })
    for (const row of [rowOf(id, '{"passwordHash":"new"}'), { ...rowOf(id), privateExtra: undefined }]) {
      expect((await users().differences([row])).changed).toEqual([row])
      await users().write({ missing: [], changed: [row] })
      expect(await users().differences([row])).toEqual({ missing: [], changed: [] })
      expect(await store().users.getPrivateExtra(anyone, id)).toEqual(JSON.parse(row.privateExtra ?? "{}"))
    }
    expect(await cellOf(id)).toBeNull()
  })

  test("S-13: of another user, or sealed with another key, are not opened; rekey seals them with the new key", async () => {
    const [one, other] = [await write(newId()), await write(newId())]
    const rejected = { reason: "ENCRYPTION_KEY_MISSING" }
    const before = await cellOf(one)
    await tables.sql("UPDATE users SET private_extra = ? WHERE id = ?", [await cellOf(other), one])
    await expect(store().users.getPrivateExtra(anyone, one)).rejects.toMatchObject(rejected)
    await tables.sql("UPDATE users SET private_extra = ? WHERE id = ?", [before, one])

    const fresh = Buffer.alloc(32, "a newer key")
    await expect(storeWith(fresh).users.getPrivateExtra(anyone, one)).rejects.toMatchObject(rejected)
    expect(await rekey(database, { encryptionKeys: [fresh] })).toMatchObject({ resealed: 0, unreadable: 2 })
    const options = { encryptionKeys: [fresh, ...encryptionKeys], batchSize: 2 }
    expect(await rekey(database, options)).toMatchObject({ resealed: 2, unreadable: 0 })
    expect(await rekey(database, options)).toMatchObject({ resealed: 0, unreadable: 0 })
    for (const id of [one, other]) {
      expect(await storeWith(fresh).users.getPrivateExtra(anyone, id)).toEqual(privateExtra)
    }
  })
})
