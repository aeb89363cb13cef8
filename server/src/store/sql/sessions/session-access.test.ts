import { createHash } from "node:crypto"
import { describeServers } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import type { StoreDatabase } from "../../conformance/context.js"
import { anyone, day, newSession, newUser, range } from "../../conformance/context.js"
import type { Store } from "../../store.js"

// SQLite is left out, because it locks the whole database.
describeServers("extensions of sessions on %s", (target) => {
  let database: StoreDatabase
  let store: Store
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    store = await database.openStore({ poolSize: 5 })
  })
  afterAll(() => database.drop())

  test("of many concurrent extensions, only the one of a locked session waits for its lock", async () => {
    const user = await store.users.create(anyone, newUser())
    const sessions = await Promise.all(
      range(40).map(() => store.sessions.create(anyone, newSession(user.id, Date.now() + day))),
    )
    const hash = createHash("sha256")
      .update(sessions[7]?.sessionToken as string)
      .digest()
    await database.sql("BEGIN")
    const lock = "UPDATE sessions SET extra = ? WHERE tenant = 'default' AND token_hash = ?"
    await database.sql(lock, ['{"device":"phone"}', hash])
    const calls = sessions.map(({ sessionToken }) =>
      store.sessions.access(anyone, sessionToken, { maxAge: 30 * day, updateAge: 0 }),
    )
    let isThere = false
    const waiting = calls[7]?.finally(() => {
      isThere = true
    })
    const others = await Promise.all(calls.filter((_, n) => n !== 7))
    expect(others.map((answer) => answer?.extended)).toEqual(others.map(() => true))
    expect(isThere).toBe(false)
    await database.sql("COMMIT")
    expect(await waiting).toMatchObject({ extended: true })
  })
})
