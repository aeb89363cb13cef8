import {
  databaseTargets,
  type ServerEngine,
  tcpProxy,
  testOnAllServers,
  testServersTogether,
} from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { activeStatements, barrier, endConnections } from "@authwire/test-support/databases/server-sql.js"
import { type Network, openNetwork, others, session, user } from "@authwire/test-support/databases/store-network.js"
import { anyone, encryptionKeys, newId, newUser } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect } from "@jest/globals"
import type { Caller } from "../store.js"
import { openSqlStore } from "./index.js"

const unavailable = { name: "StoreError", reason: "DATABASE_UNAVAILABLE" }
const timeout = { name: "StoreError", reason: "STATEMENT_TIMEOUT" }

/**
 * A limit far below the timeouts of the patient store, and far above all others. What ends within it did not wait for
 * a timeout of the patient store.
 */
const soonMs = 15_000

const msOf = async (call: Promise<unknown>) => {
  const start = performance.now()
  await call.catch(() => {})
  return performance.now() - start
}

// Each test on all servers at the same time, because they wait for timeouts.
describe("the network to a database", () => {
  const networks = new Map<ServerEngine, Network>()
  const servers = databaseTargets().filter((target) => target !== "sqlite")
  beforeAll(async () => {
    await Promise.all(servers.map(async (target) => networks.set(target, await openNetwork(target))))
  })
  afterAll(() => Promise.all([...networks.values()].map((network) => network.close())))
  const networkOf = (target: ServerEngine) => networks.get(target) as Network

  testOnAllServers(
    "is cut: all calls fail with DATABASE_UNAVAILABLE at once, and succeed again when it is back",
    async (_, target) => {
      const { proxy, store, patient } = networkOf(target)
      await proxy.cut()
      const calls = [
        () => patient.users.get(anyone, user.id),
        () => patient.users.create(anyone, newUser()),
        () => patient.users.update(anyone, user.id, { name: "x" }),
        () => patient.sessions.getWithUser(anyone, session.sessionToken),
        () => patient.ping({}),
      ]
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject(unavailable)
        expect(await msOf(call())).toBeLessThan(soonMs)
      }
      await expect(store.users.get(anyone, user.id)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } })
      await proxy.restore()
      await store.ping({})
      expect(await store.users.get(anyone, user.id)).toEqual(user)
      expect(await store.users.update(anyone, user.id, { name: "Ada" })).toEqual(user)
    },
  )

  testOnAllServers("is cut for a moment while the store is idle: later calls succeed", async (_, target) => {
    const { proxy, store, readAll } = networkOf(target)
    await readAll()
    await proxy.cut()
    await proxy.restore()
    expect(await readAll()).toEqual(others.map(({ id }) => id))
    await proxy.cut()
    await proxy.restore()
    expect(await store.users.update(anyone, user.id, { name: "Ada" })).toEqual(user)
  })

  testOnAllServers("is cut during calls: a read is retried, a write is not", async (_, target) => {
    const { database, proxy, patient, isPostgres, readAll } = networkOf(target)
    // A read is retried only on a connection that was used before.
    await readAll(patient)
    const { isOpen, stopUpdates, close, open } = await barrier(database)
    await stopUpdates()
    await close()
    const sql = `SELECT name FROM users WHERE id = ? AND ${isOpen}`
    const reading = patient.database.reads({}).read(plainSql(sql, target), [user.id])
    const writing = patient.users.update(anyone, user.id, { name: "updated" })
    const ends = Promise.allSettled([reading, writing])
    await until(async () => (await activeStatements(database)).length === 2)
    await proxy.cut()
    await proxy.restore()
    await open()
    const [read, written] = await ends
    await database.query(`DROP TRIGGER stopped${isPostgres ? " ON users" : ""}`)
    expect(read).toMatchObject({ status: "fulfilled", value: [["Ada"]] })
    expect(written).toMatchObject({ status: "rejected", reason: unavailable })
    expect(await database.sql("SELECT name FROM users WHERE id = ?", [user.id])).toEqual([{ name: "Ada" }])
  })

  testOnAllServers("hangs: STATEMENT_TIMEOUT, and a late answer does not reach another call", async (_, target) => {
    const { proxy, store, readAll } = networkOf(target)
    await readAll()
    proxy.hang()
    const hanging = [
      store.users.get(anyone, user.id),
      store.users.getByEmail(anyone, "nobody@example.com"),
      store.users.update(anyone, user.id, { name: "Ada" }),
    ]
    for (const call of hanging) {
      await expect(call).rejects.toMatchObject(timeout)
    }
    await proxy.restore()
    expect(await readAll()).toEqual(others.map(({ id }) => id))
    expect(await store.users.get(anyone, user.id)).toEqual(user)
  })

  testOnAllServers("hangs while a connection is made: DATABASE_UNAVAILABLE in time", async (_, target) => {
    const { proxy, store } = networkOf(target)
    await proxy.cut()
    await expect(store.users.get(anyone, user.id)).rejects.toMatchObject(unavailable)
    await proxy.restore()
    proxy.hang()
    const call = store.users.get(anyone, user.id)
    expect(await msOf(call)).toBeGreaterThan(2_900)
    await expect(call).rejects.toMatchObject(unavailable)
    await expect(store.ping({})).rejects.toMatchObject(unavailable)
    await proxy.restore()
    expect(await store.users.get(anyone, user.id)).toEqual(user)
  })

  testOnAllServers(
    "hangs while a connection is made: every kind of call ends when its signal aborts",
    async (_, target) => {
      const { proxy, patient } = networkOf(target)
      const write = (caller: Caller) => patient.users.create(caller, newUser())
      const request = () => ({ owner: "owner", key: newId(), digest: () => "digest" })
      const calls: [string, (caller: Caller) => Promise<unknown>][] = [
        ["read", (caller) => patient.users.get(caller, user.id)],
        ["write", write],
        [
          "write with an idempotency key",
          (caller) =>
            patient.once(caller, request(), async (transaction) => {
              await write({ ...caller, transaction })
              return Buffer.alloc(0)
            }),
        ],
        ["list of keys", (caller) => patient.apiKeys.listValid(caller, new Date())],
      ]
      const gone = new Error("the caller is gone")
      /** Whether the pool has a connection, which turns out to be dead, or none. */
      for (const isPooled of [true, false]) {
        if (isPooled) await patient.users.get(anyone, user.id)
        await proxy.cut()
        if (!isPooled) await patient.users.get(anyone, user.id).catch(() => {})
        await proxy.restore()
        proxy.hang()
        for (const [name, call] of calls) {
          const leaving = new AbortController()
          const left = call({ ...anyone, signal: leaving.signal }).then(
            () => "done",
            (error: unknown) => error,
          )
          setTimeout(() => leaving.abort(gone), 200)
          const start = performance.now()
          expect([name, await left]).toEqual([name, gone])
          expect([name, performance.now() - start < soonMs]).toEqual([name, true])
        }
        await proxy.restore()
        expect(await patient.users.get(anyone, user.id)).toEqual(user)
      }
    },
  )

  testOnAllServers("hangs: the store can be closed nevertheless", async (_, target) => {
    const { database, proxy, urlThrough, readAll, sleep } = networkOf(target)
    const closing = await openSqlStore({ encryptionKeys, url: urlThrough(proxy.port), statementTimeoutMs: 60_000 })
    await readAll(closing)
    const call = closing.database.reads({}).read(plainSql(sleep(50)), [])
    const rejected = expect(call).rejects.toMatchObject(unavailable)
    await until(async () => (await activeStatements(database)).length === 1)
    proxy.hang()
    expect(await msOf(closing.close())).toBeLessThan(soonMs)
    await rejected
    await proxy.restore()
  })

  testOnAllServers("a statement that takes too long is STATEMENT_TIMEOUT", async (_, target) => {
    const { store, isPostgres } = networkOf(target)
    // A join of this many rows takes minutes, and the timeout is 3 s.
    const table = isPostgres ? "pg_collation" : "information_schema.collations"
    const slow = `SELECT COUNT(*) FROM ${table} a, ${table} b, ${table} c, ${table} d`
    const call = store.database.reads({}).read(plainSql(slow), [])
    expect(await msOf(call)).toBeLessThan(soonMs)
    await expect(call).rejects.toMatchObject(timeout)
    expect(await store.users.get(anyone, user.id)).toEqual(user)
  })

  testOnAllServers("a server that ends our connections is no outage", async (_, target) => {
    const { database, readAll } = networkOf(target)
    await readAll()
    expect(await endConnections(database)).toBeGreaterThan(3)
    expect(await readAll()).toEqual(others.map(({ id }) => id))
  })

  describe("opening", () => {
    describe.each<[string, (isPostgres: boolean) => string, (network: Network) => Promise<string> | string]>([
      [
        "the port is closed",
        () => "ECONNREFUSED",
        async ({ urlThrough }) => {
          const gone = await tcpProxy(1)
          await gone.close()
          return urlThrough(gone.port)
        },
      ],
      [
        "the name is unknown",
        () => "ENOTFOUND",
        ({ isPostgres }) => `${isPostgres ? "postgres" : "mysql"}://root@nowhere.invalid/x`,
      ],
      [
        "the password is wrong",
        (isPostgres) => (isPostgres ? "28P01" : "ER_ACCESS_DENIED_ERROR"),
        ({ urlThrough, proxy }) => urlThrough(proxy.port, { username: "x", password: "y" }),
      ],
      [
        "there is no such database",
        (isPostgres) => (isPostgres ? "3D000" : "ER_BAD_DB_ERROR"),
        ({ urlThrough, proxy }) => urlThrough(proxy.port, { pathname: "/nothing" }),
      ],
    ])("DATABASE_UNAVAILABLE: %s", (_, code, url) => {
      testServersTogether("on %s", async (_, target) => {
        const network = networkOf(target)
        const opening = openSqlStore({ encryptionKeys, url: await url(network) })
        await expect(opening).rejects.toMatchObject({ ...unavailable, cause: { code: code(network.isPostgres) } })
      })
    })
  })
})
