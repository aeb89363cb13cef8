import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, newAccount, newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Account } from "../types.js"
import { type Database, openDatabase, rekey, sqlStore } from "./index.js"

const [first, second, third] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer]

describe.each(databaseTargets())("rekey on %s", (target) => {
  let tables: StoreDatabase & TestDatabase
  let database: Database
  const accounts: Account[] = []
  const tenants = ["default", "acme", "b"]

  const storeWith = (...encryptionKeys: Buffer[]) => sqlStore(database, { encryptionKeys })
  const everything = async (...keys: Buffer[]) => {
    const found = accounts.map((account, n) =>
      storeWith(...keys).accounts.get({ tenant: tenants[n % 3] as string }, account),
    )
    return await Promise.all(found)
  }

  beforeAll(async () => {
    tables = await createStoreDatabase(target, { tenants: ["acme", "b"] })
    database = await openDatabase({ url: tables.url })
    for (const n of range(40)) {
      const caller = { tenant: tenants[n % 3] as string }
      const { id } = await storeWith(first).users.create(caller, newUser())
      const provider = `p${n % 5}`
      const account = newAccount(id, { provider, access_token: `a${n}`, refresh_token: `r${n}`, extra: { n } })
      accounts.push(await storeWith(first).accounts.link(caller, n % 4 === 0 ? newAccount(id, { provider }) : account))
    }
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  test("S-13: leaves values that are not sealed as they are, and the store rejects them", async () => {
    const where = "WHERE provider_account_id = ?"
    const id = accounts[1]?.providerAccountId
    const [sealed] = await tables.query(`SELECT access_token FROM accounts ${where}`, [id])
    await tables.query(`UPDATE accounts SET access_token = 'plain' ${where}`, [id])
    const counts = { seen: 40, resealed: 29, unreadable: 1 }
    expect(await rekey(database, { encryptionKeys: [second, first] })).toEqual(counts)
    expect(await tables.query(`SELECT access_token FROM accounts ${where}`, [id])).toEqual([{ access_token: "plain" }])
    await expect(everything(second, first)).rejects.toMatchObject({ reason: "ENCRYPTION_KEY_MISSING" })
    await tables.query(`UPDATE accounts SET access_token = ? ${where}`, [sealed?.access_token, id])
    expect(await rekey(database, { encryptionKeys: [first, second] })).toEqual({ ...counts, unreadable: 0 })
  })

  test("seals all values with the first key, in batches, once", async () => {
    const seen: number[] = []
    const options = { encryptionKeys: [second, first], batchSize: 7 }
    const onProgress = (progress: { seen: number }) => void seen.push(progress.seen)
    expect(await rekey(database, { ...options, onProgress })).toEqual({ seen: 40, resealed: 30, unreadable: 0 })
    expect(seen).toEqual([7, 14, 21, 28, 35, 40])
    expect(await rekey(database, options)).toEqual({ seen: 40, resealed: 0, unreadable: 0 })
    expect(await everything(second)).toEqual(accounts)
  })

  test("seals the secrets of webhooks, of which each key opens its own", async () => {
    const id = "0".repeat(32)
    const webhook = { id, name: "n", url: "https://example.com/", kinds: [], includeUser: false, created: new Date() }
    const secrets = (key: Buffer) => storeWith(key).webhooks.secrets(anyone, id)
    await storeWith(second).webhooks.create(anyone, webhook, "whsec_a")
    await storeWith(second).webhooks.rotateSecret(anyone, id, {
      ...{ secret: "whsec_b", previousUntil: new Date(Date.now() + 3_600_000) },
    })
    expect(await rekey(database, { encryptionKeys: [third, second] })).toMatchObject({ unreadable: 0 })
    expect(await secrets(third)).toEqual(["whsec_b", "whsec_a"])
    await expect(secrets(second)).rejects.toMatchObject({ reason: "ENCRYPTION_KEY_MISSING" })
    await rekey(database, { encryptionKeys: [second, third] })
    expect(await secrets(second)).toEqual(["whsec_b", "whsec_a"])
    await storeWith(second).webhooks.delete(anyone, id)
  })

  test("does not change values that no key opens, and counts them", async () => {
    await tables.query("UPDATE accounts SET access_token = ? WHERE provider_account_id = ?", [
      ...["sealed.1.AAAAAAAA.AAAA", accounts[1]?.providerAccountId],
    ])
    const counts = { seen: 40, resealed: 29, unreadable: 1 }
    expect(await rekey(database, { encryptionKeys: [third, second] })).toEqual(counts)
    const readable = (
      await Promise.allSettled(
        accounts.map((account, n) => storeWith(third).accounts.get({ tenant: tenants[n % 3] as string }, account)),
      )
    ).map(({ status }) => status)
    expect(readable.filter((status) => status === "rejected")).toHaveLength(1)
  })

  test("a value whose mark was changed or cut is rejected, and a token that begins with the mark is kept", async () => {
    const store = storeWith(first)
    const { id } = await store.users.create(anyone, newUser())
    const tokens = { access_token: "sealed.2.x", refresh_token: "sealed.1", id_token: "sealed", extra: { k: "sealed" } }
    const account = await store.accounts.link(anyone, newAccount(id, tokens))
    expect(await store.accounts.get(anyone, account)).toEqual({ ...account, ...tokens })
    const where = "WHERE provider_account_id = ?"
    for (const column of ["access_token", "refresh_token", "id_token", "extra"]) {
      const [row] = await tables.query(`SELECT ${column} FROM accounts ${where}`, [account.providerAccountId])
      const stored = typeof row?.[column] === "string" ? row[column] : JSON.stringify(row?.[column])
      const put = (value: string) =>
        tables.query(`UPDATE accounts SET ${column} = ? ${where}`, [value, account.providerAccountId])
      const text = column === "extra" ? stored.replaceAll('"', "") : stored
      const altered = [text.replace("sealed.1", "sealed.2"), text.slice(0, 8), text.slice(1), "plain"]
      for (const value of column === "extra" ? [...altered.map((one) => JSON.stringify(one)), '{"k":"v"}'] : altered) {
        await put(value)
        const rejected = { reason: "ENCRYPTION_KEY_MISSING" }
        await expect(store.accounts.get(anyone, account)).rejects.toMatchObject(rejected)
        await expect(store.accounts.listByUser(anyone, id, { size: 5 }, { tokens: true })).rejects.toMatchObject(
          rejected,
        )
      }
      await put(column === "extra" ? JSON.stringify(text) : text)
    }
    expect(await store.accounts.get(anyone, account)).toEqual({ ...account, ...tokens })
  })

  test("S-13: a value that was moved to another row or column is not opened", async () => {
    const [one, two] = (await Promise.all(
      range(2).map(async () => {
        const { id } = await storeWith(first).users.create(anyone, newUser())
        const tokens = { access_token: "a", refresh_token: "r", id_token: "i", extra: { k: "v" } }
        return await storeWith(first).accounts.link(anyone, newAccount(id, tokens))
      }),
    )) as [Account, Account]
    const cell = async (account: Account, column: string) =>
      (
        await tables.query(`SELECT ${column} FROM accounts WHERE provider_account_id = ?`, [account.providerAccountId])
      )[0]?.[column]
    const rejected = { reason: "ENCRYPTION_KEY_MISSING" }
    for (const [from, column] of [
      [two, "access_token"],
      [two, "extra"],
      [one, "refresh_token"],
    ] as const) {
      const into = from === one ? "access_token" : column
      const before = await cell(one, into)
      const put = (value: unknown) =>
        tables.query(`UPDATE accounts SET ${into} = ? WHERE provider_account_id = ?`, [value, one.providerAccountId])
      await put(await cell(from, column))
      await expect(storeWith(first).accounts.get(anyone, one)).rejects.toMatchObject(rejected)
      await put(before)
      expect(await storeWith(first).accounts.get(anyone, one)).toEqual(one)
    }
    await tables.query("UPDATE accounts SET provider_account_id = 'moved' WHERE provider_account_id = ?", [
      one.providerAccountId,
    ])
    await expect(
      storeWith(first).accounts.get(anyone, { provider: "github", providerAccountId: "moved" }),
    ).rejects.toMatchObject(rejected)
    await tables.query("UPDATE accounts SET user_id = ? WHERE provider_account_id = ?", [
      one.userId,
      two.providerAccountId,
    ])
    await expect(storeWith(first).accounts.get(anyone, two)).rejects.toMatchObject(rejected)
  })
})
