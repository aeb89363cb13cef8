import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals"
import { describeServers, type TcpProxy, type TestDatabase, tcpProxy } from "../../../../test/support/databases.js"
import { plainSql } from "../../../../test/support/plain-sql.js"
import { createStoreDatabase } from "../../../../test/support/store-database.js"
import { turnsWhile } from "../../../../test/support/turns.js"
import type { StoreDatabase } from "../contract.js"
import { type Database, openDatabase } from "./index.js"

describeServers("while %s is waited for", (target) => {
  let home: StoreDatabase & TestDatabase
  let proxy: TcpProxy
  let database: Database
  beforeAll(async () => {
    home = await createStoreDatabase(target)
    const { hostname, port } = new URL(home.url)
    proxy = await tcpProxy(Number(port || 3306), hostname)
  })
  afterEach(() => database.close())
  afterAll(async () => {
    await proxy.close()
    await home.drop()
  })

  const open = async (busyPollMs: number) => {
    const url = Object.assign(new URL(home.url), { host: `127.0.0.1:${proxy.port}` }).href
    database = await openDatabase({ url, busyPollMs, statementTimeoutMs: 300 })
  }
  const sleep = () => database.statements({}, (sql) => sql.read(plainSql("SELECT SLEEP(0.05)"), []))
  const two = () => Promise.all([sleep(), sleep()])

  test("the event loop stays awake for so long, also after a statement that was given up", async () => {
    await open(10)
    expect((await turnsWhile(sleep)).most).toBeGreaterThan(200)
    proxy.hang()
    await expect(sleep()).rejects.toMatchObject({ reason: "STATEMENT_TIMEOUT" })
    await proxy.restore()
    // A new connection, which is set up first.
    await sleep()
    expect((await turnsWhile(sleep)).most).toBeGreaterThan(200)
  })

  test("it sleeps while two are", async () => {
    await open(10)
    await two()
    expect((await turnsWhile(two)).least).toBeLessThan(100)
  })

  test("it sleeps if it was told to", async () => {
    await open(0)
    expect((await turnsWhile(sleep)).least).toBeLessThan(100)
  })
})
