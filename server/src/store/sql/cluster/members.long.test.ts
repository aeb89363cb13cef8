import {
  databaseTargets,
  describeServers,
  type TcpProxy,
  type TestDatabase,
  tcpProxy,
} from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newId, newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals"
import { openSqlStore, type SqlStore } from "../index.js"

const unavailable = { name: "StoreError", reason: "DATABASE_UNAVAILABLE" }

/** A limit far above the time that leaving a member takes, and below the store's statement timeout. */
const soonMs = 15_000

/** PostgreSQL has only one host. */
const withMembers = databaseTargets().filter((target) => target === "mysql" || target === "mariadb")

describeServers(
  "two ways to %s, of which one is lost",
  (target) => {
    let database: StoreDatabase & TestDatabase
    let proxies: [TcpProxy, TcpProxy]
    let store: SqlStore
    let members: (string | undefined)[]
    const users = range(20).map(() => newUser())

    const urlOver = (ports: readonly number[]) => {
      const { username, pathname } = new URL(database.url)
      return `mysql://${username}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}${pathname}`
    }
    const open = (url: string, connectTimeoutMs = 60_000) =>
      openSqlStore({
        encryptionKeys,
        url,
        poolSize: 5,
        statementTimeoutMs: 60_000,
        connectTimeoutMs,
        onMember: ({ member }) => members.push(member),
      })
    const nameOf = ({ port }: TcpProxy) => `127.0.0.1:${port}`
    /** Reads each user by its own statement, over all connections. */
    const readAll = (count = users.length) =>
      Promise.all(
        users.slice(0, count).map(async ({ id }) => {
          const [[found] = []] = await store.database
            .reads({})
            .read(plainSql("SELECT id FROM users WHERE id = ?"), [id])
          return String(found)
        }),
      )
    const ids = users.map(({ id }) => id)

    beforeAll(async () => {
      database = await createStoreDatabase(target)
      const port = Number(new URL(database.url).port || 3306)
      proxies = [await tcpProxy(port), await tcpProxy(port)]
      members = []
      store = await open(database.url)
      for (const user of users) await store.users.create(anyone, user)
      await store.close()
    })
    afterAll(async () => {
      for (const proxy of proxies) await proxy.close()
      await database.drop()
    })
    beforeEach(async () => {
      members = []
      for (const proxy of proxies) await proxy.restore()
      store = await open(urlOver(proxies.map(({ port }) => port)))
      await readAll()
    })
    afterEach(async () => {
      for (const proxy of proxies) await proxy.restore()
      await store.close()
    })

    test("the first in the order of the URL is used; the other one only gets queries for its state", async () => {
      expect(members).toEqual([nameOf(proxies[0])])
      await until(() => proxies[1].open === 0)
      expect(proxies[0].open).toBeGreaterThan(1)
    })

    test("is cut: later reads and writes succeed, and stay on the other one when it is back", async () => {
      await proxies[0].cut()
      expect(await readAll()).toEqual(ids)
      const created = range(10).map(() => newUser())
      await Promise.all(created.map((user) => store.users.create(anyone, user)))
      await proxies[0].restore()
      expect(await store.users.update(anyone, created[0]?.id as string, { name: "x" })).toMatchObject({ name: "x" })
      expect(members).toEqual([nameOf(proxies[0]), undefined, nameOf(proxies[1])])
      await proxies[1].cut()
      expect(await readAll()).toEqual(ids)
      expect(members).toEqual([nameOf(proxies[0]), undefined, nameOf(proxies[1]), undefined, nameOf(proxies[0])])
    })

    test("is silent: it is left and its connections are ended; its reads are retried over the other, its writes are not", async () => {
      proxies[0].hang()
      const start = performance.now()
      // No more calls than connections, so that none of them waits for another one.
      const writing = store.users.create(anyone, newUser())
      const reading = readAll(3)
      const written = expect(writing).rejects.toMatchObject(unavailable)
      expect(await reading).toEqual(ids.slice(0, 3))
      await written
      expect(performance.now() - start).toBeLessThan(soonMs)
      await proxies[0].restore()
      await until(() => proxies[0].open === 0)
      expect(members).toEqual([nameOf(proxies[0]), undefined, nameOf(proxies[1])])
    })

    test("the other falls silent while it is taken into use: it is given up, and the first is used again", async () => {
      await store.close()
      store = await open(urlOver(proxies.map(({ port }) => port)), 500)
      members = []
      // This statement runs when a member is taken into use, not when its state is queried.
      proxies[1].mute("VERSION()")
      const { accepted } = proxies[1]
      await proxies[0].cut()
      await until(() => proxies[1].accepted > accepted + 1)
      await proxies[0].restore()
      await until(() => members.at(-1) === nameOf(proxies[0]))
      expect(await readAll()).toEqual(ids)
      proxies[1].reset()
    })

    test("is cut: active writes continue over the other, all at the same time", async () => {
      const count = 3
      const entered = [0, 0]
      const writing = range(count).map(() => {
        let run = 0
        return store.database.write({}, [], async (sql) => {
          const read = () => sql.read(plainSql("SELECT 1"), [])
          await read()
          const now = Math.min(run++, 1)
          entered[now] = (entered[now] ?? 0) + 1
          await until(() => entered[now] === count)
          if (now === 0) await until(() => proxies[0].open === 0)
          await read()
        })
      })
      await until(() => entered[0] === count)
      await proxies[0].cut()
      await Promise.all(writing)
      expect(entered).toEqual([count, count])
    })

    test.each([
      ["commits", "COMMIT"],
      ["writes", "INSERT INTO `idempotency_keys`"],
    ])("is lost while a write with an idempotency key %s: the write is done once, and succeeds", async (_, sql) => {
      const created = newUser()
      let runs = 0
      let written = false
      proxies[0].mute(sql)
      const request = { owner: "owner", key: newId(), digest: () => "digest" }
      const writing = store.once(anyone, request, async (transaction) => {
        runs++
        const { id } = await store.users.create({ ...anyone, transaction }, created)
        written = true
        return Buffer.from(id)
      })
      const count = async () => (await database.sql("SELECT id FROM users WHERE id = ?", [created.id])).length
      await until(async () => (sql === "COMMIT" ? (await count()) === 1 : written))
      await proxies[0].cut()
      expect(String(await writing)).toBe(created.id)
      // There are more than two runs if the server has not noticed yet that the first connection is gone, which still
      // holds its locks.
      expect(runs).toBeGreaterThan(1)
      expect(await count()).toBe(1)
      expect(String(await store.once(anyone, request, () => Promise.reject(new Error("it is known"))))).toBe(created.id)
    })

    test("both are lost: calls wait, and succeed when one is back", async () => {
      for (const proxy of proxies) await proxy.cut()
      const reading = readAll()
      const created = newUser()
      const writing = store.users.create(anyone, created)
      await until(() => members.length === 2)
      await proxies[1].restore()
      expect(await reading).toEqual(ids)
      expect(await writing).toEqual(created)
      expect(members).toEqual([nameOf(proxies[0]), undefined, nameOf(proxies[1])])
    })

    test("where the URL for reads is wrong, nothing is opened", async () => {
      const url = urlOver(proxies.map(({ port }) => port))
      const accepted = proxies[0].accepted
      await store.close()
      const opening = openSqlStore({ encryptionKeys, url, readUrl: `${url}?nothing=1` })
      await expect(opening).rejects.toThrow("unknown parameter: nothing")
      expect(proxies[0].accepted).toBe(accepted)
    })

    test("neither is reachable when the store opens: DATABASE_UNAVAILABLE, with the reason for each", async () => {
      for (const proxy of proxies) await proxy.cut()
      await expect(open(urlOver(proxies.map(({ port }) => port)))).rejects.toMatchObject({
        ...unavailable,
        cause: {
          message: expect.stringMatching(
            `^no member of the cluster can be used: ${proxies.map((one) => `${nameOf(one)}: no server answers \\(.*ECONNREFUSED.*`).join("; ")}$`,
          ),
        },
      })
    })
  },
  withMembers,
)
