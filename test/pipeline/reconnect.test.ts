import { createServer } from "node:net"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { outcome, pipelineClient } from "@authwire/test-support/connections/pipeline.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { givenUp, killAndStartAgain, runGivenUp, runScript, scripts } from "./reconnecting.js"

// reconnect.perf.test.ts tests how fast these are.

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(serviceDatabase())
})
afterAll(() => database.drop())

describe("a killed server that restarts at its address", () => {
  test("is found again; until then calls fail with UNAVAILABLE", async () => {
    await killAndStartAgain(database.url)
  })
})

describe("an outage", () => {
  test("with more than a thousand failed calls causes few attempts to connect, with pauses that grow to 2 s", async () => {
    let attempts = 0
    const server = createServer((socket) => {
      attempts++
      socket.destroy()
    })
    const port = await listen(server)
    await using resources = new AsyncDisposableStack()
    resources.defer(() => void server.close())
    let nowMs = 0
    const client = pipelineClient({ url: `http://127.0.0.1:${port}`, now: () => nowMs })
    resources.defer(() => client.close())
    const attemptsOf = async (calls: number) => {
      const before = attempts
      // A call that the client does not retry.
      for (let call = 0; call < calls; call++) {
        expect(await outcome(client.tokens.encode({ payload: {}, salt: "s" }))).toBe("UNAVAILABLE")
      }
      return attempts - before
    }
    const perPause = [await attemptsOf(150)]
    for (const longestMs of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
      // The pause is reduced by up to a half at random.
      nowMs += longestMs / 2 - 1
      expect(await attemptsOf(75)).toBe(0)
      nowMs += longestMs / 2 + 1
      perPause.push(await attemptsOf(75))
    }
    // grpc-js may connect again if a connection was opened and lost before it was used.
    expect(Math.min(...perPause)).toBe(1)
    expect(perPause.reduce((sum, one) => sum + one)).toBeLessThan(3 * perPause.length)
  })
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

  test.each(scripts)("$name ends by itself", async ({ code, prints }) => {
    expect(await runScript(url, code)).toMatchObject({ prints })
  })

  test("whose only call was cancelled before it was connected ends too", async () => {
    expect(await runGivenUp(url)).toMatchObject({ prints: givenUp.prints })
  })
})
