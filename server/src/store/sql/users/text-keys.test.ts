import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newId, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"
import { bulk, type Database, openDatabase } from "../index.js"
import { nameKey } from "./text-keys.js"

test.each([
  ["no name", undefined, undefined],
  ["an empty name", "", ""],
  ["white space alone", " \t\n\v\f\r", ""],
  ["upper case", "ADA Lovelace", "ada lovelace"],
  ["ASCII white space before it", "\t\n\v\f\r Ada", "ada"],
  ["white space within it and after it", "Ada  L ", "ada  l "],
  ["other white space before it", "\u00a0Ada", "\u00a0ada"],
  ["an ideographic space before it", "\u3000Ada", "\u3000ada"],
  ["a zero-width space before it", "\u200bAda", "\u200bada"],
  ["a control character before it", "\u001fAda", "\u001fada"],
  ["letters beyond ASCII", "ÉẞİıЖ\u212aＡ", "ÉẞİıЖ\u212aＡ"],
  ["a letter with a combining accent", "E\u0301", "e\u0301"],
  ["the neighbours of ASCII letters", "@[`{", "@[`{"],
  ["more than 128 characters", `  ${"Y".repeat(128)}Z`, "y".repeat(128)],
  ["more than 128 characters of two units", `${"🙂".repeat(127)}AZ`, `${"🙂".repeat(127)}a`],
  ["128 characters, half of two units", `${"🙂a".repeat(64)}Z`, "🙂a".repeat(64)],
])("the key of a name: %s", (_, name, key) => {
  expect(nameKey(name)).toBe(key)
})

describe.each(databaseTargets())("the column name_key on %s", (target) => {
  let tables: StoreDatabase & TestDatabase
  let database: Database
  let store: Store
  const users = () => bulk(database, { tenant: "default", encryptionKeys }).users
  /** Returns the keys of users in the table, in the order of these ids. */
  const keysOf = async (...ids: string[]) => {
    const rows = await tables.sql("SELECT id, name_key FROM users")
    return ids.map((id) => rows.find((row) => row.id === id)?.name_key)
  }

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url })
    store = await tables.openStore({ provisionalMs: 60_000 })
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  test("follows the name when a user is created, changed, disabled, enabled and signed out", async () => {
    const [id, other] = [newId(), newId()]
    await store.users.create(anyone, { id, name: " Ada", email: `${id}@example.com`, extra: {} })
    await store.users.create(anyone, { id: other, extra: {} })
    expect(await keysOf(id, other)).toEqual(["ada", null])
    await store.users.update(anyone, id, { email: `${id}@example.org`, extra: { role: "admin" } })
    expect(await keysOf(id)).toEqual(["ada"])
    await store.users.update(anyone, id, { name: "Grace HOPPER" }, { revokeSessionsOnEmailChange: true })
    expect(await keysOf(id, other)).toEqual(["grace hopper", null])
    for (const change of ["disable", "enable"] as const) {
      await store.users[change](anyone, id, {})
      expect(await keysOf(id)).toEqual(["grace hopper"])
    }
    await store.users.update(anyone, id, { name: "" })
    expect(await keysOf(id)).toEqual([""])
    await store.users.update(anyone, id, { name: null })
    expect(await keysOf(id)).toEqual([null])
  })

  test("is that of the user who replaces one with an incomplete sign-up", async () => {
    const [first, second] = [newId(), newId()]
    const email = `${first}@example.com`
    await store.users.create(anyone, { id: first, name: "Mallory", email, extra: {} }, { provisional: true })
    await store.users.create(anyone, { id: second, name: "Alice", email, extra: {} }, { provisional: true })
    expect(await keysOf(first, second)).toEqual([undefined, "alice"])
  })

  test("follows the names of rows in bulk, of any number, and is no part of the rows that are read", async () => {
    const ids = range(51).map(() => newId())
    const rowsOf = (begin: string) => ids.map((id, n) => ({ tenant: "default", id, name: `${begin} ${n}`, extra: {} }))
    await users().write({ missing: rowsOf("New"), changed: [] })
    expect(await keysOf(...ids)).toEqual(ids.map((_, n) => `new ${n}`))
    expect(await users().differences(rowsOf("New"))).toEqual({ missing: [], changed: [] })
    const { changed } = await users().differences(rowsOf("NEWER"))
    expect(changed).toHaveLength(51)
    await users().write({ missing: [], changed })
    expect(await keysOf(...ids)).toEqual(ids.map((_, n) => `newer ${n}`))
    for await (const page of users().pages()) for (const row of page) expect(row).not.toHaveProperty("nameKey")
  })
})
