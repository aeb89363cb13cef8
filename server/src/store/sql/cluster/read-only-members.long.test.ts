import {
  createDatabaseOn,
  describeServers,
  ownServers,
  type PrivateServer,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { anyone, encryptionKeys, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { applyMigrations, openSqlStore, type SqlStore } from "../index.js"

const unavailable = { name: "StoreError", reason: "DATABASE_UNAVAILABLE" }

describeServers(
  "two servers of %s, of which one takes writes",
  (engine) => {
    const servers: PrivateServer[] = []
    const databases: TestDatabase[] = []
    let store: SqlStore
    let reader: SqlStore
    let hasty: SqlStore
    const members: (string | undefined)[] = []
    const here = newUser()
    const count = async (index: number) =>
      Number((await databases[index]?.query("SELECT COUNT(*) AS n FROM users"))?.[0]?.n)
    const setReadOnly = (index: number, value: 0 | 1) =>
      databases[index]?.query(`SET GLOBAL read_only = ${value}`) as Promise<unknown>

    beforeAll(async () => {
      const started = await Promise.all([startPrivateDatabase(engine), startPrivateDatabase(engine)])
      for (const [index, server] of started.entries()) {
        if (server === null) throw new Error(`no ${engine}`)
        servers.push(server)
        databases[index] = await createDatabaseOn(server)
        await databases[index]?.query("CREATE DATABASE twins")
        await databases[index]?.query("USE twins")
        await databases[index]?.query("CREATE USER authwire")
        await databases[index]?.query("GRANT ALL ON twins.* TO authwire")
        const alone = await openSqlStore({ encryptionKeys, url: `mysql://authwire@127.0.0.1:${server.port}/twins` })
        await applyMigrations(alone.database)
        await alone.close()
      }
      await setReadOnly(1, 1)
      const url = `mysql://authwire@${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}/twins`
      store = await openSqlStore({ encryptionKeys, url, onMember: ({ member }) => members.push(member) })
      reader = await openSqlStore({
        encryptionKeys,
        url,
        readUrl: `mysql://authwire@127.0.0.1:${servers[1]?.port}/twins`,
      })
      // Its calls fail sooner without a member that accepts writes.
      hasty = await openSqlStore({ encryptionKeys, url, connectTimeoutMs: 2_000, longestWaitMs: 500 })
    })
    afterAll(async () => {
      await hasty?.close()
      await reader?.close()
      await store?.close()
      for (const server of servers) await server.remove()
    })

    test("only lists are read from the server of --database-read-url", async () => {
      await reader.users.create(anyone, here)
      await databases[1]?.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'there', '{}')")
      const page = await reader.users.list(anyone, {}, { size: 10, token: undefined })
      expect(page.items.map(({ id }) => id)).toEqual(["there"])
      expect(await reader.users.count(anyone, {})).toBe(1)
      expect(await reader.users.get(anyone, here.id)).toEqual(here)
      expect(await reader.users.get(anyone, "there")).toBeNull()
      await databases[1]?.query("DELETE FROM users WHERE id = 'there'")
    })

    test("a server that no longer accepts writes is left, and no write fails or is done twice", async () => {
      const before = await count(0)
      let stopped = false
      let written = 0
      const writers = range(5).map(async () => {
        while (!stopped) {
          await store.users.create(anyone, newUser())
          written++
        }
      })
      await until(() => written > 20)
      await setReadOnly(0, 1)
      const there = await count(0)
      await setReadOnly(1, 0)
      const atSwitch = written
      await until(() => written > atSwitch + 20)
      stopped = true
      await Promise.all(writers)
      expect(await count(0)).toBe(there)
      expect((await count(0)) - before + (await count(1))).toBe(written)
      const names = servers.map(({ port }) => `127.0.0.1:${port}`)
      expect(members).toEqual([names[0], undefined, names[1]])
    })

    test("neither accepts writes: the service is not ready, and calls fail with DATABASE_UNAVAILABLE in time", async () => {
      await setReadOnly(1, 1)
      await until(() => members.at(-1) === undefined)
      await expect(store.ping({ signal: AbortSignal.timeout(1000) })).rejects.toMatchObject({ name: "TimeoutError" })
      await expect(hasty.users.create(anyone, newUser())).rejects.toMatchObject(unavailable)
      await setReadOnly(1, 0)
      await store.users.create(anyone, newUser())
    })

    test("the server for reads of lists is killed: lists are read from the other", async () => {
      await setReadOnly(0, 0)
      await servers[0]?.kill()
      const lists = await openSqlStore({
        encryptionKeys,
        url: `mysql://authwire@127.0.0.1:${servers[1]?.port}/twins`,
        readUrl: `mysql://authwire@127.0.0.1:${servers[0]?.port}/twins`,
      })
      /** Whether lists are read from the first server: only it has that user. */
      const isReadFromFirst = async () => {
        const { items } = await lists.users.list(anyone, {}, { size: 1000, token: undefined })
        return items.some(({ id }) => id === here.id)
      }
      expect(await isReadFromFirst()).toBe(false)
      await servers[0]?.start()
      await until(isReadFromFirst)
      await lists.close()
    })
  },
  ownServers().filter((engine) => engine !== "postgres"),
)
