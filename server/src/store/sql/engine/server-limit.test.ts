import { createDatabase, databaseTargets, type ServerEngine } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { createUser, dropUser, endConnections } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { anyone, encryptionKeys, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { openSqlStore } from "../index.js"
import type { ServerLimitEvent } from "./server-limit.js"

const later = endsAfterEach()
const servers = databaseTargets().filter((target) => target !== "sqlite")
// One after the other, because opening a database imports its driver, which jest allows only in the test that runs.
const testEach = (servers.length > 0 ? test : test.skip).each(servers)
const most = 3

/** Opens a store with a pool of ten connections as a user who may have three. */
async function openLimited(target: ServerEngine) {
  const tables = await createDatabase(target)
  later(tables.drop)
  await migrate(tables)
  const user = `limited_${target}_${Math.random().toString(36).slice(2, 8)}`
  const url = await createUser(tables, user, "pass")
  later(() => dropUser(tables, user))
  const limit = (count: number) =>
    tables.query(
      target === "postgres"
        ? `ALTER ROLE ${user} CONNECTION LIMIT ${count}`
        : `ALTER USER '${user}'@'%' WITH MAX_USER_CONNECTIONS ${count}`,
    )
  await limit(most)
  const open = async () => {
    const events: ServerLimitEvent[] = []
    const store = await openSqlStore({
      url,
      encryptionKeys,
      poolSize: 10,
      onServerLimit: (event) => events.push(event),
    })
    later(store.close)
    const hold = (seconds: number, signal?: AbortSignal) => {
      const sql = target === "postgres" ? `SELECT pg_sleep(${seconds})` : `SELECT SLEEP(${seconds})`
      return store.database.reads({ signal }).read(plainSql(sql, target), [])
    }
    return { store, hold, events }
  }
  const connections = async () => {
    const rows = await tables.query(
      target === "postgres"
        ? `SELECT pid FROM pg_stat_activity WHERE usename = '${user}'`
        : `SELECT id FROM information_schema.processlist WHERE user = '${user}'`,
    )
    return rows.length
  }
  return { ...(await open()), open, limit, connections, end: () => endConnections(tables, user) }
}

testEach(
  "%s: where the server gives fewer connections than the pool has, no call fails, and the cause is told once",
  async (target) => {
    const { store, hold, events, connections, limit } = await openLimited(target)
    const users = range(20).map(() => newUser())
    await Promise.all([
      ...range(20).map(() => hold(0.05)),
      ...users.map((user) => store.users.create(anyone, user)),
      ...range(5).map(() => store.ping({})),
      ...range(5).map(() => store.apiKeys.listValid({}, new Date())),
    ])
    expect(await Promise.all(users.map(({ id }) => store.users.get(anyone, id)))).toEqual(users)
    expect(await connections()).toBe(most)
    expect(events).toEqual([
      {
        cause: expect.stringMatching(/too many connections for role|max_user_connections/),
        code: target === "postgres" ? "53300" : "ER_USER_LIMIT_REACHED",
      },
    ])

    // A call waits no longer than its caller.
    const held = range(most).map(() => hold(1))
    const gone = new Error("the caller is gone")
    await expect(hold(0, AbortSignal.abort(gone))).rejects.toBe(gone)
    const waiter = new AbortController()
    const waits = hold(0, waiter.signal)
    waiter.abort(gone)
    await expect(waits).rejects.toBe(gone)
    await Promise.all(held)

    // MySQL applies another limit only to users without connections.
    if (target !== "postgres") return
    await limit(-1)
    await until(async () => {
      await Promise.all(range(10).map(() => hold(0.1)))
      return (await connections()) > most
    })
    expect(events).toHaveLength(1)
  },
)

testEach(
  "%s: where the server gives no connection at all, calls fail at once, and succeed when there is one again",
  async (target) => {
    const { store, hold, open, events, connections, end } = await openLimited(target)
    const other = await open()
    await end()
    await until(async () => {
      await Promise.all(range(most).map(() => other.hold(0.1)))
      return (await connections()) === most
    })
    for (const call of [hold(0), store.users.get(anyone, "u"), store.ping({})]) {
      await expect(call).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    }
    expect(events).toHaveLength(1)
    await other.store.close()
    await until(async () => (await connections()) === 0)
    await store.ping({})
    expect(await Promise.all(range(20).map(() => hold(0.01)))).toHaveLength(20)
    expect(events).toHaveLength(1)
  },
)
