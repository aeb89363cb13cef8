import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  encryptionKeys,
  newId,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals"
import type { Caller } from "../../store.js"
import { openSqlStore, type SqlStore } from "../index.js"

describe.each(databaseTargets())("concurrent writes with idempotency keys, on %s", (target) => {
  const isShared = target !== "sqlite"
  let database: StoreDatabase & TestDatabase
  let store: SqlStore
  const soon = Date.now() + 3_600_000
  /** The operations of the statements, such as COMMIT. */
  let ran: string[]
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    const observer = {
      waited() {},
      connected() {},
      lookedUp() {},
      ran: ({ operation }: { operation: string }) => ran.push(operation),
    }
    const options = { encryptionKeys, poolSize: 5, eventsKeepMs: 86_400_000, provisionalMs: 900_000, observer }
    store = await openSqlStore({ url: database.url, ...options })
  })
  beforeEach(() => {
    ran = []
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  const count = (operation: string) => ran.filter((one) => one === operation).length
  const request = (key: string) => ({ owner: "owner", key, digest: () => "digest" })
  /** Creates a user under a key, then does something else. */
  const create = (
    key: string,
    id: string,
    also: (caller: Caller) => Promise<unknown> = async () => {},
    given = anyone,
  ) =>
    store.once(given, request(key), async (transaction) => {
      const caller: Caller = { ...given, transaction }
      await store.users.create(caller, newUser({ id }))
      await also(caller)
      return Buffer.from(id)
    })
  /** Does a write under a new key. Returns what the write returned. */
  async function once<T>(work: (caller: Caller) => Promise<T>, replica = store) {
    let found: T | undefined
    await replica.once(anyone, request(newId()), async (transaction) => {
      found = await work({ ...anyone, transaction })
      return Buffer.from("")
    })
    return found
  }
  /** A statement that fails. */
  const failing = (caller: Caller) =>
    store.database.write(caller, [], (sql) => sql.write({ sql: "DELETE FROM nothing", cells: () => [] }, undefined))
  /** Counts the users, their events, and all keys. */
  const stored = async (ids: readonly string[]) => {
    const list = ids.map(() => "?").join()
    const [users] = await database.sql(`SELECT COUNT(*) AS n FROM users WHERE id IN (${list})`, [...ids])
    const [events] = await database.sql(`SELECT COUNT(*) AS n FROM events WHERE user_id IN (${list})`, [...ids])
    const keys = await database.sql("SELECT COUNT(*) AS n FROM idempotency_keys")
    return { users: Number(users?.n), events: Number(events?.n), keys: Number(keys[0]?.n) }
  }
  const keysBefore = async () => Number((await database.sql("SELECT COUNT(*) AS n FROM idempotency_keys"))[0]?.n)

  test("share transactions; each is done once, with its event, and gets its own answer, also when it is repeated", async () => {
    const ids = range(40).map(newId)
    const before = await keysBefore()
    const make = () => Promise.all(ids.map(async (id) => String(await create(`key of ${id}`, id))))
    expect(await make()).toEqual(ids)
    expect(await stored(ids)).toEqual({ users: 40, events: 40, keys: before + 40 })
    if (isShared) expect(count("COMMIT")).toBeLessThan(20)
    // One statement for the users, one for their events and one for the keys.
    expect(count("INSERT")).toBe(3 * count("COMMIT"))
    expect(count("ROLLBACK")).toBe(0)
    expect(await make()).toEqual(ids)
    expect(await stored(ids)).toEqual({ users: 40, events: 40, keys: before + 40 })
  })

  test("one after the other never wait for another transaction", async () => {
    const timers = jest.spyOn(globalThis, "setTimeout")
    try {
      for (const id of range(5).map(newId)) await create(`key of ${id}`, id)
      // While a unit waits to share a transaction, a timer runs that begins another one.
      expect(timers.mock.calls.filter(([, ms = 0]) => ms > 0 && ms <= 5)).toEqual([])
    } finally {
      timers.mockRestore()
    }
  })

  test("work that continues after it inserted a row reads that row", async () => {
    const ids = range(40).map(newId)
    const signUp = (id: string) =>
      create(newId(), id, async (caller) => {
        await store.sessions.create(caller, newSession(id, soon, { sessionToken: `of ${id}` }))
        await store.users.update(caller, id, { name: "new" })
      })
    await Promise.all(ids.map(signUp))
    expect(await stored(ids)).toMatchObject({ users: 40, events: 120 })
    for (const id of ids) {
      const found = await store.sessions.getWithUser(anyone, `of ${id}`)
      expect(found).toMatchObject({ session: { userId: id }, user: { id, name: "new" } })
    }
    if (isShared) expect(count("ROLLBACK")).toBe(0)
  })

  test("a write by itself begins a transaction at once, with a statement for each row", async () => {
    await create(newId(), newId())
    expect(ran.filter((operation) => operation !== "SELECT")).toEqual([
      expect.stringMatching(/^(BEGIN|START)$/),
      ...["INSERT", "INSERT", "INSERT", "COMMIT"],
    ])
  })

  test("failed writes leave nothing behind; the others are done once although they shared a transaction", async () => {
    const ids = range(60).map(newId)
    const taken = newUser()
    await store.users.create(anyone, taken)
    const before = await keysBefore()
    const fails = [
      // A statement fails, before and after another participant has written.
      () => create(newId(), taken.id),
      (id: string) => create(newId(), id, failing),
      // The work continues after an insert that fails, with a statement that succeeds.
      () => create(newId(), taken.id, (caller) => store.users.update(caller, taken.id, { name: "new" })),
      // The last insert of the work fails.
      (id: string) =>
        create(newId(), id, async (caller) => {
          const session = newSession(id, soon)
          await store.sessions.create(caller, session)
          await store.sessions.create(caller, session)
        }),
      // The work itself fails after it has written.
      (id: string) => create(newId(), id, () => Promise.reject(new Error("the work failed"))),
    ]
    const results = [
      { status: "fulfilled" },
      { reason: { reason: "USER_ALREADY_EXISTS" } },
      { reason: { failure: "fault" } },
      { reason: { reason: "USER_ALREADY_EXISTS" } },
      { reason: { reason: "SESSION_ALREADY_EXISTS" } },
      { reason: { message: "the work failed" } },
    ]
    const calls = ids.map((id, n) => (n % 6 === 0 ? create(newId(), id) : fails[(n % 6) - 1]?.(id)))
    const ended = await Promise.allSettled(calls)
    for (const [n, end] of ended.entries()) expect(end).toMatchObject(results[n % 6] as object)
    expect(await stored(ids)).toEqual({ users: 10, events: 10, keys: before + 10 })
  })

  test("work that continues after a failed statement is not reported as done if it had written before", async () => {
    const [lost, made, ...others] = range(20).map(newId) as [string, string, ...string[]]
    const before = await keysBefore()
    const losing = once(async (caller) => {
      await store.users.create(caller, newUser({ id: lost }))
      await expect(failing(caller)).rejects.toThrow()
    })
    const making = once(async (caller) => {
      await expect(failing(caller)).rejects.toThrow()
      await store.users.create(caller, newUser({ id: made }))
    })
    await Promise.all([making, expect(losing).rejects.toThrow(), ...others.map((id) => create(newId(), id))])
    expect(await stored([lost])).toMatchObject({ users: 0, events: 0 })
    expect(await stored([made, ...others])).toEqual({ users: 19, events: 19, keys: before + 19 })
  })

  test("of concurrent deletions of one thing on two replicas one succeeds; the other participants are done", async () => {
    const other = await openSqlStore({ url: database.url, encryptionKeys, poolSize: 5, eventsKeepMs: 86_400_000 })
    const user = newUser()
    await store.users.create(anyone, user)
    const tokens = range(20).map(newId)
    for (const token of tokens) {
      await store.sessions.create(anyone, newSession(user.id, soon, { sessionToken: token }))
      await store.verificationTokens.create(anyone, { identifier: token, token, expires: new Date(soon) })
    }
    const ids = tokens.map(newId)
    const onBoth = <T>(token: string, work: (replica: SqlStore, caller: Caller, token: string) => Promise<T>) =>
      [store, other].map((replica) => once((caller) => work(replica, caller, token), replica))
    const deleted = tokens.map((token) =>
      onBoth(token, (replica, caller, sessionToken) => replica.sessions.delete(caller, sessionToken)),
    )
    const used = tokens.map((token) =>
      onBoth(token, (replica, caller) => replica.verificationTokens.use(caller, { identifier: token, token })),
    )
    const made = ids.map((id) => create(newId(), id))
    const oneOf = async <T>(calls: Promise<T | null | undefined>[]) =>
      (await Promise.all(calls)).flatMap((one) => one ?? [])
    try {
      const sessions = await Promise.all(deleted.map(oneOf))
      expect(sessions).toEqual(tokens.map((sessionToken) => [expect.objectContaining({ sessionToken })]))
      const verificationTokens = await Promise.all(used.map(oneOf))
      expect(verificationTokens).toEqual(tokens.map((token) => [expect.objectContaining({ token })]))
      await Promise.all(made)
    } finally {
      await Promise.allSettled([...deleted, ...used, ...made].flat())
      await other.close()
    }
    expect(await database.sql("SELECT * FROM sessions WHERE user_id = ?", [user.id])).toEqual([])
    const told = await database.sql("SELECT kind FROM events WHERE user_id = ? AND kind = 'session.deleted'", [user.id])
    expect(told).toHaveLength(20)
    expect(await stored(ids)).toMatchObject({ users: 20, events: 20 })
  })

  test("sessions that are deleted or created together need few statements", async () => {
    const tokens = range(32).map(newId)
    const users = tokens.map(() => newUser())
    for (const one of users) await store.users.create(anyone, one)
    ran = []
    await Promise.all(
      tokens.map((sessionToken, n) =>
        once((caller) => store.sessions.create(caller, newSession(users[n]?.id as string, soon, { sessionToken }))),
      ),
    )
    // The updates of users that are no longer provisional, and in a cluster of their turns.
    expect(count("UPDATE")).toBe((store.database.hasOtherWriters ? 3 : 1) * count("COMMIT"))
    expect(count("INSERT")).toBe(3 * count("COMMIT"))
    // How many share a transaction depends on the machine.
    if (isShared) expect(count("COMMIT")).toBeLessThan(32)
    ran = []
    await Promise.all(tokens.map((sessionToken) => once((caller) => store.sessions.delete(caller, sessionToken))))
    expect(count("DELETE")).toBe(count("COMMIT"))
    expect(count("INSERT")).toBe(2 * count("COMMIT"))
    if (isShared) expect(count("COMMIT")).toBeLessThan(32)
  })

  if (isShared) {
    test("no call is answered before the database has committed", async () => {
      const ids = range(20).map(newId)
      let answered = 0
      await database.sql("BEGIN")
      // The insert of the keys, the last statement, waits for this lock.
      const lock = {
        mysql: "SELECT * FROM idempotency_keys FOR UPDATE",
        mariadb: "SELECT * FROM idempotency_keys FOR UPDATE",
        postgres: "LOCK TABLE idempotency_keys IN EXCLUSIVE MODE",
      }[target as "mysql"]
      await database.sql(lock)
      const calls = ids.map((id) =>
        create(newId(), id).then(() => {
          answered++
        }),
      )
      await until(() => count("INSERT") > 3)
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(answered).toBe(0)
      expect(await stored(ids)).toMatchObject({ users: 0 })
      await database.sql("COMMIT")
      await Promise.all(calls)
      expect(await stored(ids)).toMatchObject({ users: 20, events: 20 })
    })
  }
})
