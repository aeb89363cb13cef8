import { createAuthwireClient } from "@authwire/client"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type Collector, startCollector } from "@authwire/test-support/machine/collector.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { afterEach, beforeEach, expect, test } from "@jest/globals"

// Tests which trace contexts are accepted, and how a collector can affect the service.

let collector: Collector
let database: TestDatabase
let server: ServerProcess | undefined
beforeEach(async () => {
  collector = await startCollector()
  database = await createDatabase("sqlite")
})
afterEach(async () => {
  await server?.stop()
  server = undefined
  await collector.close()
  await database.drop()
})

const start = (env: Record<string, string> = {}, args: string[] = []) =>
  startServer({
    databaseUrl: database.url,
    keys: true,
    args,
    env: {
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER_ARG: "0",
      ...env,
    },
  })

const traceId = "0af7651916cd43dd8448eb211c80319c"
const sampled = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }

/** Calls GetUser over each transport, with these headers. */
async function callBy(target: ServerProcess, apiKey: string | undefined, headers: Record<string, string>) {
  const { grpcUrl, httpUrl } = target
  const ways = {
    pipeline: undefined,
    grpc: createGrpcTransport({ baseUrl: grpcUrl }),
    http: createConnectTransport({ baseUrl: httpUrl, httpVersion: "1.1" }),
  }
  for (const transport of Object.values(ways)) {
    const client = createAuthwireClient({ url: grpcUrl, apiKey, transport })
    await client.users.getUser({ id: "nobody" }, { headers }).catch(() => {})
    client.close()
  }
}

const linesOf = ({ log }: ServerProcess, method: string): Record<string, unknown>[] =>
  log()
    .split("\n")
    .filter((line) => line.includes(`/${method}"`) && line.includes('"transport"'))
    .map((line) => JSON.parse(line))

test("a trace of a caller with a valid key is continued, over every transport; without a valid key it is not", async () => {
  server = await start()
  const strange = `awk_${"0".repeat(16)}_${"x".repeat(43)}`
  await callBy(server, undefined, sampled)
  await callBy(server, strange, sampled)
  await callBy(server, server.apiKey, { traceparent: `00-${"9".repeat(32)}-b7ad6b7169203331-01` })
  expect(await server.stop()).toBe(0)

  const served = collector.spans.filter(({ kind }) => kind === "server")
  expect(served.map(({ attributes }) => attributes["authwire.transport"])).toEqual(["pipeline", "grpc", "http"])
  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set(["9".repeat(32)]))
  for (const { parentId } of served) expect(parentId).toBe("b7ad6b7169203331")
  // It is not in the log either.
  expect(server.log()).not.toContain(traceId)
})

test("the context of a stream does not apply to the calls in it", async () => {
  server = await start()
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey, headers: sampled })
  await client.adapter.getUser("nobody")
  client.close()
  expect(await server.stop()).toBe(0)
  expect(linesOf(server, "GetUser").map(({ transport, trace_id }) => [transport, trace_id])).toEqual([
    ["pipeline", undefined],
  ])
  expect(collector.spans).toEqual([])
})

test.each([
  ["not sampled", `00-${traceId}-b7ad6b7169203331-00`, 0, [traceId]],
  ["malformed", `00-${traceId}-b7ad6b7169203331`, 0, [undefined]],
  ["all zeros", `00-${"0".repeat(32)}-b7ad6b7169203331-01`, 0, [undefined]],
])("a context that is %s", async (_name, traceparent, spans, ids) => {
  server = await start()
  await callBy(server, server.apiKey, { traceparent, tracestate: `k=${"v".repeat(5_000)}` })
  expect(await server.stop()).toBe(0)
  expect(collector.spans).toHaveLength(spans)
  expect([...new Set(linesOf(server, "GetUser").map(({ trace_id }) => trace_id))]).toEqual(ids)
})

test("without a trace of the caller, the sampler decides, and the log has the ids of the sampled traces", async () => {
  server = await start({ OTEL_TRACES_SAMPLER_ARG: "0.5" })
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
  const calls = 200
  await Promise.all(Array.from({ length: calls }, () => client.adapter.getUser("nobody")))
  client.close()
  expect(await server.stop()).toBe(0)
  const traced = collector.spans.filter(({ kind }) => kind === "server").map((span) => span.traceId)
  // The expected 100 of 200 are more than 6 standard deviations from both limits.
  expect(traced.length).toBeGreaterThan(55)
  expect(traced.length).toBeLessThan(145)
  const logged = linesOf(server, "GetUser").flatMap(({ trace_id }) => trace_id ?? [])
  expect(logged.toSorted()).toEqual(traced.toSorted())
})

test.each(["fails", "hangs"] as const)(
  "a collector that %s affects no call, is logged once, and does not delay the end of the service",
  async (behaviour) => {
    collector.behaviour = behaviour
    server = await start({ OTEL_TRACES_SAMPLER: "always_on" }, ["--metrics-addr=127.0.0.1:0"])
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
    // More spans than the queue can hold.
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 100 }, () => client.adapter.getUser("nobody")))
    await until(() => collector.requests > 0)
    if (behaviour === "fails")
      await until(() => server?.log().includes("the collector does not accept traces") === true)
    for (let round = 0; round < 5; round++) await client.adapter.getUser("nobody")
    client.close()
    const begun = performance.now()
    expect(await server.stop()).toBe(0)
    expect(performance.now() - begun).toBeLessThan(15_000)
    const told = server
      .log()
      .split("\n")
      .filter((line) => line.includes("the collector does not accept traces"))
    expect(told.length).toBeLessThanOrEqual(1)
    expect(linesOf(server, "GetUser").filter(({ code }) => code !== "NOT_FOUND")).toEqual([])
  },
)

test("a collector that was down gets traces again", async () => {
  await collector.close()
  const port = await freePort()
  collector = await startCollector(port)
  await collector.close()
  server = await start({ OTEL_TRACES_SAMPLER: "always_on" })
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
  await client.adapter.getUser("nobody")
  await until(() => server?.log().includes("the collector does not accept traces") === true)
  expect(server.log()).toContain('"code":"ECONNREFUSED"')
  collector = await startCollector(port)
  await until(async () => {
    await client.adapter.getUser("nobody")
    return collector.spans.length > 0
  })
  await until(() => server?.log().includes("the collector accepts traces again") === true)
  client.close()
})
