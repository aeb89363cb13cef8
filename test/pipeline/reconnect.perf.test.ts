import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { givenUp, killAndStartAgain, runGivenUp, runScript, scripts } from "./reconnecting.js"

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(serviceDatabase())
})
afterAll(() => database.drop())

test("a killed server that restarts at its address is found within two seconds; until then calls fail immediately", async () => {
  const { failedMs, foundMs } = await killAndStartAgain(database.url)
  expect(failedMs).toBeLessThan(2_000)
  expect(foundMs).toBeLessThan(3_000)
})

describe("a script that uses the client", () => {
  let url: string
  let stop: () => Promise<unknown>
  beforeAll(async () => {
    const server = await startServer({ databaseUrl: database.url, args: ["--log-level=warn"] })
    url = server.grpcUrl
    stop = server.stop
  })
  afterAll(() => stop())

  test.each(scripts)("$name ends within $idleMs ms of its last call", async (script) => {
    expect((await runScript(url, script.code)).idleMs).toBeLessThan(script.idleMs)
  })

  test(`whose only call was cancelled before it was connected ends within ${givenUp.idleMs} ms`, async () => {
    expect((await runGivenUp(url)).idleMs).toBeLessThan(givenUp.idleMs)
  })
})
