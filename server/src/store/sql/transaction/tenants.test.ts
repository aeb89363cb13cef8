import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { encryptionKeys, newId, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { describe, expect, test } from "@jest/globals"
import type { Caller } from "../../store.js"
import { openSqlStore } from "../index.js"

describe.each(databaseTargets())("tenants with one connection on %s", (target) => {
  test("S-22: the calls of one wait behind a few of another one that calls very often", async () => {
    const database = await createStoreDatabase(target, { tenants: ["often", "seldom"] })
    const store = await openSqlStore({ url: database.url, encryptionKeys, poolSize: 1 })
    try {
      const calls = {
        read: (caller: Caller) => store.accounts.get(caller, { provider: "p", providerAccountId: newId() }),
        count: (caller: Caller) => store.users.count(caller, {}),
        write: (caller: Caller) => store.users.create(caller, newUser()),
      }
      for (const [name, call] of Object.entries(calls)) {
        const order: string[] = []
        const by = async (tenant: string) => {
          await call({ tenant, ofTenant: tenant })
          order.push(tenant)
        }
        await Promise.all([...range(20).map(() => by("often")), by("seldom")])
        expect([name, order.indexOf("seldom") < 6]).toEqual([name, true])
      }
    } finally {
      await store.close()
      await database.drop()
    }
  })
})

const kinds = ["read", "write"] as const
test.each(kinds)(
  "S-22: on SQLite, after a long %s of a tenant the calls of others come before its next one",
  async (kind) => {
    const database = await createStoreDatabase("sqlite", { tenants: ["long", "short"] })
    const store = await openSqlStore({ url: database.url, encryptionKeys })
    try {
      const order: string[] = []
      const count = async (tenant: string, rows: number) => {
        const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})`
        const sql = `${numbers} SELECT COUNT(*) FROM numbers`
        const statement = { sql, cells: () => [] }
        if (kind === "read") await store.database.reads({ ofTenant: tenant }).read(statement, undefined)
        else await store.database.write({ ofTenant: tenant }, [], (write) => write.read(statement, undefined))
        order.push(`${tenant} ${rows}`)
      }
      await count("short", 1)
      const long = [count("long", 300_000), count("long", 1)]
      await long[0]
      await Promise.all([...long, count("short", 2)])
      expect(order).toEqual(["short 1", "long 300000", "short 2", "long 1"])
    } finally {
      await store.close()
      await database.drop()
    }
  },
)
