import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newId, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { describe, expect, test } from "@jest/globals"
import { openSqlStore } from "../index.js"

describe.each(databaseTargets())("API keys on %s", (target) => {
  test("the calls of a key wait behind a few of another one that calls very often", async () => {
    const database = await createStoreDatabase(target)
    const store = await openSqlStore({ url: database.url, encryptionKeys, poolSize: 1 })
    try {
      const calls = {
        read: (caller: typeof anyone) => store.accounts.get(caller, { provider: "p", providerAccountId: newId() }),
        count: (caller: typeof anyone) => store.users.count(caller, {}),
        write: (caller: typeof anyone) => store.users.create(caller, newUser()),
      }
      for (const [name, call] of Object.entries(calls)) {
        const order: string[] = []
        const by = async (keyId: string) => {
          await call({ ...anyone, owner: { tenant: anyone.tenant, keyId } } as typeof anyone)
          order.push(keyId)
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
