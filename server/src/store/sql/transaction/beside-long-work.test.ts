import { setTimeout as delay } from "node:timers/promises"
import { describeServers, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  encryptionKeys,
  newId,
  newUser,
  outcomes,
  range,
} from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals"
import type { Caller } from "../../store.js"
import { openSqlStore, type SqlStore } from "../index.js"

afterEach(() => {
  jest.useRealTimers()
})

// SQLite has one connection, so that every write waits for the long one.
describeServers("beside work with an exclusive transaction, on %s", (target) => {
  let database: StoreDatabase & TestDatabase
  let store: SqlStore
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    store = await openSqlStore({ url: database.url, encryptionKeys, poolSize: 5 })
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  const once = (work: (caller: Caller) => Promise<unknown>) =>
    store.once(anyone, { owner: "owner", key: newId(), digest: () => "digest" }, async (transaction) => {
      await work({ ...anyone, transaction })
      return Buffer.from("")
    })
  const create = () => once((caller) => store.users.create(caller, newUser()))

  test("writes do not wait for a timer", async () => {
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    try {
      const user = newUser()
      await store.users.create(anyone, user)
      // Opens connections for all of the writes.
      await Promise.all(range(20).map(create))
      const long = once(async (caller) => {
        await store.users.delete(caller, user.id)
        begun.resolve()
        await end.promise
      })
      await begun.promise
      const patience = delay(2_000, "a write waits for a timer", { ref: false })
      jest.useFakeTimers({ doNotFake: realTimers })
      const writes = async () => {
        for (let write = 0; write < 5; write++) await create()
        return "done"
      }
      const outcome = await Promise.race([writes(), patience])
      jest.useRealTimers()
      expect(outcome).toBe("done")
      expect(await store.users.get(anyone, user.id)).not.toBeNull()
      end.resolve()
      await long
      expect(await store.users.get(anyone, user.id)).toBeNull()
    } finally {
      end.resolve()
    }
  })

  test("while some wait for locks of another transaction, others are done", async () => {
    const locked = range(6).map(() => newUser())
    for (const user of locked) await store.users.create(anyone, user)
    await database.sql("BEGIN")
    for (const { id } of locked) {
      await database.sql("UPDATE users SET name = 'theirs' WHERE tenant = 'default' AND id = ?", [id])
    }
    let over = 0
    const waiting = locked.map(({ id }) =>
      once((caller) => store.users.delete(caller, id)).finally(() => {
        over++
      }),
    )
    await Promise.all(range(20).map(create))
    expect(over).toBe(0)
    await database.sql("COMMIT")
    expect(await outcomes(waiting)).toEqual({ ok: 6 })
  })
})

/** Everything but `setTimeout`, which never fires. The event loop goes on, and a wait for a timer lasts for ever. */
const realTimers = [
  ...(["Date", "hrtime", "nextTick", "performance", "queueMicrotask", "setImmediate", "clearImmediate"] as const),
  ...(["setInterval", "clearInterval"] as const),
]
