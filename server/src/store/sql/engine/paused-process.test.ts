import { setTimeout as delay } from "node:timers/promises"
import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { openSqlStore } from "../index.js"

const later = endsAfterEach()
const servers = databaseTargets().filter((target) => target !== "sqlite")
const testEach = (servers.length > 0 ? test : test.skip).each(servers)

testEach("%s: an answer that arrives while the process stands still is no timeout", async (target) => {
  const tables = await createDatabase(target)
  later(tables.drop)
  const store = await openSqlStore({ url: tables.url, encryptionKeys, statementTimeoutMs: 3_000 })
  later(store.close)
  const sql = target === "postgres" ? "SELECT pg_sleep(0.1)" : "SELECT SLEEP(0.1)"
  const answered = store.database.reads({}).read(plainSql(sql, target), [])
  // The statement is on its way. Timers are next, before what has arrived.
  await delay(20)
  await new Promise(setImmediate)
  // For longer than a statement may take.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_500)
  expect(await answered).toHaveLength(1)
})
