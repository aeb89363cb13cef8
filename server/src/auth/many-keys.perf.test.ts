import { monitorEventLoopDelay } from "node:perf_hooks"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { pino } from "pino"
import { openKeyring } from "./keyring.js"

const keys = 100_000

test("100,000 keys are read without a pause of the process, and only changes are read again", async () => {
  const database = await createStoreDatabase("sqlite")
  const store = await database.openStore()
  await database.query(`INSERT INTO api_keys (id, name, tenant, scopes, secret_hash, created)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${keys})
    SELECT printf('key%013d', i), 'n', 'default', '["sessions:read","users:read"]', randomblob(32), '2024-01-01 00:00:00.000' FROM n`)
  await database.query("UPDATE api_keys SET changed = '2024-01-01 00:00:00.000'")
  const before = process.memoryUsage()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const options = {
    apiKeys: store.apiKeys,
    log: pino({ level: "silent" }),
    clock: () => performance.now(),
    now: Date.now,
  }
  const keyring = await openKeyring({ ...options, listIntervalMs: 100 })
  for (const number of [1, keys])
    await until(async () => keyring.get(`key${String(number).padStart(13, "0")}`) !== undefined)
  const loadMs = delay.max / 1e6
  delay.reset()
  await store.apiKeys.revoke({}, "key0000000000007", new Date())
  await until(async () => keyring.get("key0000000000007") === undefined)
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const stepMs = delay.max / 1e6
  const { heapUsed, external } = process.memoryUsage()
  const mib = (heapUsed + external - before.heapUsed - before.external) / 2 ** 20
  process.stderr.write(
    `longest pauses: ${loadMs.toFixed()} ms and ${stepMs.toFixed()} ms; memory: ${mib.toFixed()} MiB\n`,
  )
  expect(loadMs).toBeLessThan(100)
  expect(stepMs).toBeLessThan(100)
  expect(mib).toBeLessThan(150)
  keyring.stop()
  await database.drop()
}, 120_000)
