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
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import type { Caller } from "../../store.js"
import { openSqlStore, type SqlStore } from "../index.js"

// SQLite has one connection, so that every write waits for the lock.
describeServers("beside work that waits for locks, on %s", (target) => {
  let database: StoreDatabase & TestDatabase
  let store: SqlStore
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    store = await openSqlStore({ url: database.url, encryptionKeys, poolSize: 5, longestWaitMs: 60_000 })
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
