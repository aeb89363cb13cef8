import {
  databaseTargets,
  describeServers,
  type TcpProxy,
  type TestDatabase,
  tcpProxy,
} from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { newId } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { type Connection, createConnection } from "mysql2/promise"
import type { MysqlEngine } from "../engine/mysql/mysql.js"
import { parseDatabaseUrl, type ServerLocation } from "../engine/url/url.js"
import { followMembers, type Members } from "./members.js"
import { openServer } from "./open.js"

/** Much longer than a statement may hang on the only fit member; see members.ts. */
const longMs = 4_000

/** PostgreSQL has only one host. */
const withMembers = databaseTargets().filter((target) => target === "mysql" || target === "mariadb")

describeServers(
  "a member of %s that reports to be fit while a statement hangs",
  (target) => {
    let database: StoreDatabase & TestDatabase
    let proxies: TcpProxy[]
    let members: Members
    let used: (string | undefined)[]
    let opened: MysqlEngine[]
    let holder: Connection

    beforeEach(async () => {
      database = await createStoreDatabase(target)
      const port = Number(new URL(database.url).port || 3306)
      proxies = [await tcpProxy(port), await tcpProxy(port)]
      used = []
      opened = []
    })
    afterEach(async () => {
      holder.destroy()
      await members.close()
      for (const proxy of proxies) await proxy.close()
      await database.drop()
    })

    const nameOf = (proxy: TcpProxy | undefined) => `127.0.0.1:${proxy?.port}`

    /** On the first member, runs a statement that waits until the holder of its lock ends. */
    async function standStill(isOnlyFit: boolean) {
      const named = proxies.map(({ port }) => {
        const location = parseDatabaseUrl(Object.assign(new URL(database.url), { port: String(port) }).href)
        return location as ServerLocation
      })
      const options = { poolSize: 2, statementTimeoutMs: 60_000, connectTimeoutMs: 60_000, freshness: "fresh" as const }
      members = await followMembers({
        ...{ locate: async () => named, unfit: () => undefined, isOnlyFit: () => isOnlyFit, waitMs: 60_000 },
        async open(location) {
          const engine = await openServer(location, options)
          opened.push(engine)
          return engine
        },
        onChange: ({ member }) => used.push(member),
      })
      const lock = newId()
      holder = await createConnection(database.url)
      await holder.query("SELECT GET_LOCK(?, 0)", [lock])
      const connection = await (await members.engine()).connect()
      const standing = connection.run("SELECT GET_LOCK(?, 60)", [lock])
      return { standing: Promise.allSettled([standing]), connection }
    }

    test("is left if no other member can be fit: its statements end, and the next member is used", async () => {
      const { standing } = await standStill(true)
      const [outcome] = await standing
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StatementError" } })
      await until(() => used.length === 3)
      expect(used).toEqual([nameOf(proxies[0]), undefined, nameOf(proxies[1])])
    })

    test("is kept if other members can be fit too: a slow statement is allowed", async () => {
      const { standing, connection } = await standStill(false)
      await until(() => (opened[0]?.oldestMs() ?? 0) > longMs)
      await holder.end()
      expect(await standing).toMatchObject([{ status: "fulfilled" }])
      expect(used).toEqual([nameOf(proxies[0])])
      connection.release()
    })
  },
  withMembers,
)
