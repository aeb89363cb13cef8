import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { allPages } from "@authwire/test-support/store-contract/pages.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import type { Caller, Store } from "../../store.js"
import type { Page, PageRequest } from "../../types.js"
import type { Database, Reads } from "../database.js"
import { openDatabase, sqlStore } from "../index.js"
import { bytesOf } from "../query/statement.js"
import { maxPageBytes } from "./list.js"
import { largeRowsPerStatement } from "./rows-at-once.js"

const caller = { tenant: "large" }
/** Twice as much as a page. */
const rowBytes = 1024 * 1024
const ids = range(largeRowsPerStatement + 2).map((n) => `u${n}`)

describe.each(databaseTargets())("pages of rows of 1 MiB, on %s", (target) => {
  let tables: TestDatabase
  let database: Database
  let store: Store
  /** The bytes that the store has read, and the most rows that one statement found. */
  let [read, most] = [0, 0]
  /** How often work on rows has waited for a turn of the event loop. */
  let turns = 0
  let onTurn = () => {}

  beforeAll(async () => {
    tables = await createStoreDatabase(target, { tenants: ["large"] })
    database = await openDatabase({ url: tables.url })
    const counting = ({ read: original }: Reads): Reads => ({
      async read(statement, values) {
        const rows = await original(statement, values)
        for (const row of rows) read += bytesOf(row)
        most = Math.max(most, rows.length)
        return rows
      },
    })
    store = sqlStore(
      {
        ...database,
        async readTurn() {
          turns++
          onTurn()
        },
        reads: (...of) => counting(database.reads(...of)),
        olderReads: (...of) => counting(database.olderReads(...of)),
      },
      { encryptionKeys },
    )
    for (const id of ids) {
      await store.users.create(caller, newUser({ id }))
      await store.accounts.link(caller, newAccount(id, { provider: "p", providerAccountId: id }))
      await store.accounts.link(caller, newAccount("u0", { provider: "q", providerAccountId: id }))
      await store.sessions.create(caller, newSession("u0", Date.now() + 86_400_000))
      await store.authenticators.create(caller, newAuthenticator("u0"))
      const entry = { created: new Date(), method: "m", keyId: "k", subject: "s", details: { code: "OK" } }
      await store.audit.add({}, [{ tenant: caller.tenant, entry: entry as never }])
    }
    const long = "x".repeat(rowBytes)
    const json = `{"long":"${long}"}`
    for (const [table, column, value] of [
      ["users", "image", long],
      ["accounts", "extra", json],
      ["sessions", "extra", json],
      ["authenticators", "extra", json],
      ["audit_entries", "details", json],
    ])
      await tables.query(`UPDATE ${table} SET ${column} = ? WHERE tenant = 'large'`, [value as string])
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })
  beforeEach(() => {
    read = 0
  })

  const batch = async ({ token = "0" }: PageRequest): Promise<Page<unknown>> => {
    const items = await store.users.getMany(caller, ids.slice(Number(token)))
    const next = Number(token) + items.length
    return { items, nextToken: next < ids.length ? `${next}` : undefined }
  }
  test.each<[string, (page: PageRequest) => Promise<Page<unknown>>]>([
    ["users.list", (page) => store.users.list(caller, {}, page)],
    ["users.list of a provider", (page) => store.users.list(caller, { provider: "p" }, page)],
    ["users.getMany", batch],
    ["accounts.listByUser", (page) => store.accounts.listByUser(caller, "u0", page, { tokens: false })],
    ["sessions.list", (page) => store.sessions.list(caller, {}, page)],
    [
      "sessions.list, active ones of a user",
      (page) => store.sessions.list(caller, { userId: "u0", active: true }, page),
    ],
    ["authenticators.list", (page) => store.authenticators.list(caller, "u0", page)],
    ["audit.list", (page) => store.audit.list(caller, {}, page)],
  ])("S-23: a page of %s reads no more than its bound and one row", async (_, list) => {
    const reads: number[] = []
    const pages = await allPages(100, async (page) => {
      read = 0
      const found = await list(page)
      reads.push(read)
      return found
    })
    expect(pages.flat().length).toBeGreaterThanOrEqual(ids.length)
    expect(Math.max(...reads)).toBeGreaterThan(rowBytes)
    expect(Math.max(...reads)).toBeLessThan(maxPageBytes + rowBytes)
    // A server may read a text to know its size, so few sizes are read once the rows are known to be large.
    most = 0
    await list({ size: 100 })
    expect(most).toBeLessThanOrEqual(largeRowsPerStatement)
  })

  test("S-22: each large row waits for a turn of the event loop, and a page of small rows for none, behind large ones", async () => {
    turns = 0
    const pages = await allPages(100, (page) => store.users.list(caller, {}, page))
    expect(turns).toBe(pages.flat().length)
    const other = { tenant: "default" }
    for (const id of ids) await store.users.create(other, newUser({ id }))
    turns = 0
    expect((await store.users.list(other, {}, { size: 100 })).items).toHaveLength(ids.length)
    expect(await store.users.getMany(other, ids)).toHaveLength(ids.length)
    expect(turns).toBe(0)
  })

  test("S-22: a page for which nobody waits any more ends at the turn of its next row", async () => {
    for (const read of [
      (ended: Caller) => store.users.list(ended, {}, { size: 100 }),
      (ended: Caller) => store.users.getMany(ended, ids),
    ]) {
      const ending = new AbortController()
      onTurn = () => ending.abort(new Error("nobody waits"))
      turns = 0
      await expect(read({ ...caller, signal: ending.signal })).rejects.toThrow("nobody waits")
      expect(turns).toBe(1)
    }
    onTurn = () => {}
  })
})
