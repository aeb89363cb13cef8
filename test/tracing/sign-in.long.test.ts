import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type CollectedSpan, type Collector, startCollector } from "@authwire/test-support/machine/collector.js"
import { hasTracedApplication, tracedSignIn } from "@authwire/test-support/machine/tracing.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const withApplication = hasTracedApplication() ? describe : describe.skip

/** A span with its child spans. */
type Tree = readonly [name: string, kind: string | undefined, inside: readonly Tree[]]

/** Ignores waits, which occur on a busy machine. */
function treeOf(spans: readonly CollectedSpan[], parentId = ""): Tree[] {
  return spans
    .filter((span) => span.parentId === parentId && span.name !== "wait for a connection")
    .sort((a, b) => Number(a.start - b.start))
    .map((span) => [span.name, span.kind, treeOf(spans, span.spanId)])
}

const call = (method: string, ...statements: string[]): Tree => {
  const name = `authwire.v1.${method}`
  return [name, "client", [[name, "server", statements.map((one): Tree => [one, "client", []])]]]
}

const target = serviceDatabase()

withApplication("a sign-in", () => {
  /** A write is committed together with its event and its idempotency key. */
  const write = (method: string, ...statements: string[]) =>
    call(
      method,
      target === "sqlite" ? "BEGIN" : "START",
      ...statements,
      "INSERT events",
      "INSERT idempotency_keys",
      "COMMIT",
    )
  let collector: Collector
  let database: TestDatabase
  let server: ServerProcess
  beforeAll(async () => {
    collector = await startCollector()
    database = await createDatabase(target)
    server = await startServer({
      databaseUrl: database.url,
      keys: true,
      env: {
        OTEL_TRACES_EXPORTER: "otlp",
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=k%20y",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
        // Calls without a trace of the application are not recorded.
        OTEL_TRACES_SAMPLER_ARG: "0",
      },
    })
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    await collector.close()
    await database.drop()
  })

  test.each([
    ["a pipeline", "pipeline"],
    ["fetch", "http"],
  ])("is one trace from the application to the statements, over %s", async (_name, transport) => {
    const traceId = await tracedSignIn({
      AUTHWIRE_URL: server.grpcUrl,
      AUTHWIRE_HTTP_URL: transport === "http" ? server.httpUrl : undefined,
      AUTHWIRE_API_KEY: server.apiKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    })
    const spansOf = () => collector.spans.filter((span) => span.traceId === traceId)
    const ofService = () => spansOf().filter(({ resource }) => resource["service.name"] === "authwire")
    // The span of a call ends after those of its statements.
    await until(() => ofService().filter(({ kind }) => kind === "server").length === 5)

    const spans = spansOf()
    expect(treeOf(spans)).toEqual([
      [
        "sign in",
        "internal",
        [
          call("UserService/GetUserByAccount", "SELECT accounts users"),
          write("UserService/CreateUser", "INSERT users"),
          write("AccountService/LinkAccount", "INSERT accounts"),
          write("SessionService/CreateSession", "UPDATE users", "INSERT sessions"),
          call("SessionService/GetSessionAndUser", "SELECT sessions users"),
        ],
      ],
    ])
    for (const { start, end } of spans) expect(end).toBeGreaterThanOrEqual(start)
    expect(spans.filter(({ isError }) => isError)).toEqual([])

    const served = spans.filter(({ kind, resource }) => kind === "server" && resource["service.name"] === "authwire")
    const { keyId } = { keyId: server.apiKey?.split("_")[1] }
    for (const { attributes, resource } of served) {
      expect(attributes).toMatchObject({
        "rpc.system.name": "grpc",
        "authwire.transport": transport,
        "authwire.tenant": "default",
        "authwire.key": keyId,
      })
      expect(resource).toMatchObject({ "service.name": "authwire", "deployment.environment.name": "test" })
    }
    expect(served.map(({ attributes }) => attributes["rpc.response.status_code"])).toEqual([
      "NOT_FOUND",
      "OK",
      "OK",
      "OK",
      "OK",
    ])
    const insert = spans.find(({ name }) => name === "INSERT sessions")
    expect(insert?.attributes).toMatchObject({
      "db.system.name": target === "postgres" ? "postgresql" : target,
      "db.operation.name": "INSERT",
      "db.collection.name": "sessions",
      "db.query.text": expect.stringContaining(target === "postgres" ? "$1" : "?"),
    })
    expect(collector.headers).toMatchObject({
      "x-collector-key": "k y",
      "content-type": "application/x-protobuf",
    })

    // No span contains a value of the calls, or any e-mail address or token.
    const text = JSON.stringify(ofService(), (_, value) => (typeof value === "bigint" ? String(value) : value))
    expect(text).not.toMatch(/@example|token-of-the-provider|Ada/)

    // The log has the same trace id.
    const lines = server
      .log()
      .split("\n")
      .filter((line) => line.includes(`"trace_id":"${traceId}"`))
    const methods = lines.map((line) => JSON.parse(line)).filter(({ event }) => event !== "audit")
    expect(methods.map(({ method }) => method.split("/")[1])).toEqual([
      "GetUserByAccount",
      "CreateUser",
      "LinkAccount",
      "CreateSession",
      "GetSessionAndUser",
    ])
    const audited = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "audit")
    expect(audited.map(({ method }) => method.split("/")[1])).toEqual(["CreateUser", "LinkAccount", "CreateSession"])
  })
})
