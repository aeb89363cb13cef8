import { createAuthwireClient } from "@authwire/client"
import { http2Proxy } from "@authwire/test-support/connections/http2-proxy.js"
import { outcome, pipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from "@jest/globals"

const later = endsAfterEach()
let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(serviceDatabase())
})
afterAll(() => database.drop())

let lines: string[]
beforeEach(() => {
  lines = []
  jest.spyOn(console, "warn").mockImplementation((line: string) => void lines.push(line))
})
afterEach(() => {
  jest.restoreAllMocks()
})

async function start(args: string[] = []) {
  const server = await startServer({ databaseUrl: database.url, args: ["--log-level=warn", ...args] })
  later(() => server.stop())
  return server
}

test("calls that are sent separately are logged once with the reason, until a pipeline has carried calls", async () => {
  const { grpcUrl } = await start()
  const proxy = await http2Proxy(grpcUrl)
  later(proxy.close)
  let laterMs = 0
  const client = pipelineClient({ url: proxy.url, now: () => performance.now() + laterMs, wallClock: () => 0 })
  later(async () => client.close())
  const call = async (count: number) => {
    const calls = Array.from({ length: count }, () => outcome(client.adapter.getUser("nobody")))
    expect(tally(await Promise.all(calls))).toEqual({ OK: count })
  }
  /** Makes calls until they are carried in the other way. */
  const change = async (passage: typeof proxy.passage, isCarried: boolean) => {
    proxy.passage = passage
    proxy.cut("close")
    laterMs += 61_000
    await until(async () => {
      const { others } = proxy.counts
      await call(10)
      return (proxy.counts.others === others) === isCarried
    })
    await call(10)
  }
  const line = (reason: string) => {
    const { host } = new URL(proxy.url)
    return `[authwire][warn] ${host}: rejects pipelines, so every call is sent separately (${reason})`
  }
  await call(10)
  expect(lines).toEqual([])
  await change("unknown", false)
  laterMs += 61_000
  await call(10)
  expect(lines).toEqual([line("UNIMPLEMENTED: unknown method")])
  await change("passed", true)
  await change(403, false)
  expect(lines).toEqual([
    line("UNIMPLEMENTED: unknown method"),
    line("PERMISSION_DENIED: Received HTTP status code 403"),
  ])
})

test("addresses that can no longer be looked up are logged once, until they can be", async () => {
  const { grpcUrl } = await start()
  let nowMs = 0
  let found: string[] | Error = ["127.0.0.1"]
  const host = `authwire.localhost:${new URL(grpcUrl).port}`
  const client = pipelineClient({
    url: `dns:///${host}`,
    resolve: async () => {
      if (found instanceof Error) throw found
      return found
    },
    now: () => nowMs,
    wallClock: () => 0,
  })
  later(async () => client.close())
  const lookUp = async (result: typeof found) => {
    found = result
    nowMs += 30_000
    for (let count = 0; count < 2; count++) expect(await client.adapter.getUser("nobody")).toBeNull()
  }
  await lookUp(["127.0.0.1"])
  await lookUp(new Error("no\nname"))
  await lookUp([])
  const line = (reason: string) =>
    `[authwire][warn] ${host}: cannot be looked up, so the addresses found before are used (UNAVAILABLE: ${reason})`
  expect(lines).toEqual([line("no name")])
  await lookUp(["127.0.0.1"])
  await lookUp([])
  expect(lines).toEqual([line("no name"), line("the host name resolves to no address")])
})

test("a session cache that gets no lease is logged once with the reason; one that gets it is not", async () => {
  const cached = async (url: string) => {
    const client = createAuthwireClient({ url, sessionCache: {} })
    later(async () => client.close())
    const server = new URL(url).host
    return { client, server, read: () => client.adapter.getSessionAndUser("none") }
  }
  const without = await cached((await start(["--events-keep=0"])).grpcUrl)
  await until(async () => {
    await without.read()
    return lines.length > 0
  })
  const [line] = lines
  expect(line).toMatch(
    /^\[authwire\]\[warn\] [\d.:]+: does not announce changes of sessions, so the session cache is not used \(/,
  )
  expect(line).toContain(without.server)
  // Each of these may open another stream.
  for (let count = 0; count < 200; count++) await without.read()
  expect(lines).toHaveLength(1)
})
