import { existsSync } from "node:fs"
import { createAuthwireClient } from "@authwire/client"
import { IntrospectionService, SessionService } from "@authwire/proto"
import { createDatabase, describeServer } from "@authwire/test-support/databases/databases.js"
import { startCollector } from "@authwire/test-support/machine/collector.js"
import { check, root } from "@authwire/test-support/machine/deploy.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

interface Expression {
  readonly where: string
  readonly problems: readonly string[]
  readonly expression: string
  readonly isWhole: boolean
  readonly names: readonly string[]
}

const isInstalled = existsSync(`${root}/scripts/deploy/node_modules/@prometheus-io`)
const withTools = isInstalled ? test : test.skip

async function expressions(): Promise<Expression[]> {
  const { code, output } = await check(process.execPath, [`${root}/scripts/deploy/expressions.js`])
  if (code !== 0) throw new Error(output)
  return JSON.parse(output)
}

withTools(
  "each alert and each panel has an expression that Prometheus can parse, and Prometheus accepts each rule",
  async () => {
    const all = await expressions()
    expect(all.filter(({ where }) => where.startsWith("alert ")).length).toBeGreaterThan(5)
    expect(all.filter(({ where }) => where.startsWith("panel ")).length).toBeGreaterThan(20)
    expect(all.filter(({ isWhole, problems }) => !isWhole || problems.length > 0)).toEqual([])
  },
)

withTools(
  "the alert on slow calls includes each method with which an application finds the session of a request",
  async () => {
    const slow = (await expressions()).find(({ where }) => where === "alert AuthwireSlow")
    const [, methods = ""] = /grpc_method=~"([^"]*)"/.exec(slow?.expression ?? "") ?? []
    const { getSessionAndUser, accessSession } = SessionService.method
    const reads = [getSessionAndUser, accessSession, IntrospectionService.method.introspect]
    expect(methods.split("|").sort()).toEqual(reads.map(({ name }) => name).sort())
  },
)

describeServer("on a server", (target) => {
  withTools(
    "each metric that an alert or a panel uses is exported by a service after it has served calls",
    async () => {
      await using started = new AsyncDisposableStack()
      const collector = await startCollector()
      started.defer(() => collector.close())
      const database = await createDatabase(target)
      started.defer(() => database.drop())
      const other = await startServer({ databaseUrl: database.url, args: ["--log-level=warn"] })
      started.defer(async () => void (await other.stop()))
      const server = await startServer({
        databaseUrl: database.url,
        keys: true,
        args: ["--metrics-addr=127.0.0.1:0", "--cleanup-interval=1s", "--cleanup-keep=0"],
        env: {
          OTEL_TRACES_EXPORTER: "otlp",
          OTEL_TRACES_SAMPLER: "always_on",
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        },
      })
      started.defer(async () => void (await server.stop()))
      const clients = [server, other].map(({ grpcUrl: url, apiKey }) => createAuthwireClient({ url, apiKey }))
      started.defer(() => {
        for (const { close } of clients) close()
      })
      const [first] = clients
      expect(await first?.adapter.getSessionAndUser("none")).toBeNull()
      const { id } = (await first?.adapter.createUser({ id: "u", email: "u@example.com", emailVerified: null }))!
      const exported = async () => {
        const text = await (await fetch(server.metricsUrl)).text()
        return new Set([...text.matchAll(/^(\w+)(?:\{| )/gm)].map(([, name]) => name))
      }
      // Many concurrent writes of one row, until writes of two processes conflict.
      await until(async () => {
        const writes = clients.flatMap(({ adapter }) =>
          Array.from({ length: 40 }, () => adapter.updateUser({ id, name: "x" })),
        )
        await Promise.all(writes)
        return (await exported()).has("authwire_database_retries_total")
      })
      // Creates an expired row, and waits until the service deletes it.
      const expired = { identifier: "u@example.com", token: "expired", expires: new Date(0) }
      await first?.adapter.createVerificationToken(expired)
      await until(async () => (await exported()).has("authwire_cleanup_deleted_rows_total"))
      // A row that another program has written, and that cannot be read.
      await database.query("UPDATE users SET extra = '[]' WHERE id = 'u'")
      for await (const _ of first?.users.list() ?? []);
      const names = await exported()
      const missing = (await expressions()).flatMap(({ where, names: wanted }) =>
        wanted.filter((name) => !names.has(name)).map((name) => `${where}: ${name}`),
      )
      expect(missing).toEqual([])
    },
  )
})
