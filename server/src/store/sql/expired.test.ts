import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newSession, newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { ExpiredRows } from "../store.js"
import { openSqlStore, type SqlStore } from "./index.js"

const zero = Date.UTC(1990, 0, 1)
const span = { from: new Date(zero), before: new Date(zero + 1_000_000), limit: 100 }

describe.each(databaseTargets())("deleting what has expired, on %s", (target) => {
  let tables: StoreDatabase & TestDatabase
  let store: SqlStore
  let rows: ExpiredRows
  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    store = await openSqlStore({ encryptionKeys, url: tables.url, poolSize: 1 })
    rows = store.expired.tables[0] as ExpiredRows
    const user = await store.users.create(anyone, newUser())
    for (const n of range(200)) await store.sessions.create(anyone, newSession(user.id, zero + n))
  })
  afterAll(async () => {
    await store.close()
    await tables.drop()
  })

  const count = async () => Number((await tables.query("SELECT COUNT(*) AS n FROM sessions"))[0]?.n)

  test("a call whose signal aborts deletes nothing", async () => {
    const stopping = new AbortController()
    const aborted = rows.deleteBatch({ signal: stopping.signal }, span)
    stopping.abort(new Error("given up"))
    await expect(aborted).rejects.toThrow("given up")
    expect(await count()).toBe(200)
  })

  if (target !== "sqlite") {
    test("rows that another transaction has locked are skipped at once, and deleted by the next call", async () => {
      await tables.query("BEGIN")
      const locked = "SELECT token_hash FROM sessions ORDER BY expires LIMIT 5 FOR UPDATE"
      expect(await tables.query(locked)).toHaveLength(5)
      const deleted = await rows.deleteBatch({ signal: AbortSignal.timeout(20_000) }, span)
      expect(deleted).toMatchObject({ count: 100, first: new Date(zero + 5), last: new Date(zero + 104) })
      await tables.query("ROLLBACK")
      expect(await rows.deleteBatch({}, { ...span, limit: 5 })).toMatchObject({ count: 5, last: new Date(zero + 4) })
      expect(await count()).toBe(95)
    })
  }
})
