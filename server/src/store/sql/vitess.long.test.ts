import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys, range } from "@authwire/test-support/store-contract/context.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { diagnoseDatabase } from "../../doctor/database.js"
import { applyMigrations, type Database, openDatabase } from "./index.js"

// A vtgate that creates keyspaces, before vttablets with the consolidator, which is on by default.
const serverUrl = process.env.AUTHWIRE_TEST_VITESS_URL as string
const later = endsAfterEach()

storeContract("vitess", () => createStoreDatabase("mysql", { serverUrl }))

describe("vtgate", () => {
  let keyspace: TestDatabase
  let database: Database

  beforeAll(async () => {
    keyspace = await createDatabase("mysql", serverUrl)
    database = await openDatabase({ url: keyspace.url, statementTimeoutMs: 2_000 })
  })
  afterAll(async () => {
    await database?.close()
    await keyspace?.drop()
  })

  test("of concurrent migrators one applies each migration, and the others wait", async () => {
    const others = await Promise.all(range(2).map(() => openDatabase({ url: keyspace.url })))
    for (const other of others) later(() => other.close())
    expect((await Promise.all([database, ...others].map(applyMigrations))).flat()).toHaveLength(1)
  })

  test("doctor finds nothing wrong", async () => {
    const found = await diagnoseDatabase(database, { encryptionKeys })
    expect(found.filter(({ state }) => state !== "ok")).toEqual([])
    expect(found.map(({ what }) => what)).toEqual(expect.arrayContaining(["Vitess", "foreign key mode", "tables"]))
  })

  test("a read does not get the answer of an equal one that runs already", async () => {
    const read = { sql: "SELECT SLEEP(0.5), CONNECTION_ID()", cells: () => [] }
    const answers = await Promise.all(range(3).map(() => database.reads({}).read(read, undefined)))
    expect(new Set(answers.map(([row]) => row?.[1])).size).toBe(3)
  })

  test("a statement that takes too long is ended", async () => {
    const sleep = { sql: "SELECT SLEEP(100)", cells: () => [] }
    await expect(database.reads({}).read(sleep, undefined)).rejects.toMatchObject({ reason: "STATEMENT_TIMEOUT" })
    expect(await keyspace.query("SHOW PROCESSLIST")).not.toContainEqual(
      expect.objectContaining({ Info: expect.stringContaining("SLEEP(100)") }),
    )
  })
})
