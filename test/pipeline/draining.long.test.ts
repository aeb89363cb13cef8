import { type AuthwireClient, createAuthwireClient, grpcTransport } from "@authwire/client"
import { pipelineClient, startReplicas } from "@authwire/test-support/connections/pipeline.js"
import { tcpBalancer } from "@authwire/test-support/connections/tcp-balancer.js"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { createDatabase, describeServer, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { withHeldRow } from "@authwire/test-support/databases/held-row.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"

const later = endsAfterEach()

// For the timers of the client, time passes only when a test says so.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "clearImmediate", "queueMicrotask", "performance"] })
})
afterEach(() => {
  jest.useRealTimers()
})

/** The pause between two checks of a connection by the client, and less than its timeout, in milliseconds. */
const checkMs = 20_000
const stepMs = 500
const timeoutMs = 600_000

/** Ways to connect a client: one for each transport. */
const ways: [transport: string, connect: (url: string) => Pick<AuthwireClient, "adapter" | "users" | "tokens">][] = [
  [
    "pipelines",
    (url) => {
      const client = pipelineClient({ url, timeoutMs })
      later(async () => client.close())
      return client
    },
  ],
  [
    "unary calls",
    (url) => {
      const transport = grpcTransport({ url })
      later(async () => transport.close())
      return createAuthwireClient({ url, transport, timeoutMs })
    },
  ],
]

describeServer("a replica that drains", (target) => {
  test.each(["after", "while"])(
    "answers the active calls itself, if their clients check the connection %s it is asked to leave",
    async (moment) => {
      const database = await createDatabase(target)
      later(() => database.drop())
      const replicas = await startReplicas(
        [database.url, database.url],
        ["--shutdown-grace-ms=60000", "--database-statement-timeout-ms=60000"],
      )
      later(() => replicas.stop())
      const [first, second] = [replicas.server(0), replicas.server(1)]
      // Each client has a network of its own, whose balancer passes the first connection to the first replica.
      const networks = ways.map(async ([, connect]) => {
        const balancer = await tcpBalancer(replicas.hosts, replicas.port)
        later(balancer.close)
        const proxy = await tcpProxy(balancer.port)
        later(proxy.close)
        return { proxy, client: connect(`http://127.0.0.1:${proxy.port}`) }
      })
      const connected = await Promise.all(networks)
      const [proxies, clients] = [connected.map(({ proxy }) => proxy), connected.map(({ client }) => client)]
      // Calls that a client does not repeat.
      const encode = () => Promise.all(clients.map(({ tokens }) => tokens.encode({ payload: {}, salt: "s" })))
      const other = createAuthwireClient({ url: second.grpcUrl })
      later(async () => other.close())

      await withHeldRow({ database, adapter: other.adapter }, async ({ requests, waiting, release }) => {
        const answers = clients.map(({ users }, index) => users.updateUser(requests[index]!))
        const settled = Promise.allSettled(answers)
        await waiting(clients.length)
        if (moment === "while") {
          for (const proxy of proxies) proxy.hang()
          jest.advanceTimersByTime(checkMs)
        }
        const stopped = first.stop()
        // It no longer listens, and has sent a GOAWAY.
        const { httpUrl } = first
        await until(() =>
          fetch(httpUrl, { headers: { connection: "close" } }).then(
            () => false,
            () => true,
          ),
        )
        await Promise.all(proxies.map((proxy) => proxy.restore()))
        await until(async () => {
          await encode()
          return second.log().split("TokenService/Encode").length > clients.length
        })
        for (let passedMs = 0; passedMs < 2 * checkMs; passedMs += stepMs) {
          jest.advanceTimersByTime(stepMs)
          await encode()
        }
        await release()
        expect(await settled).toMatchObject(requests.slice(0, 2).map(({ id }) => ({ value: { user: { id } } })))
        expect(await stopped).toBe(0)
        const executions = [first, second].map(({ log }) => log().split("UserService/UpdateUser").length - 1)
        expect(executions).toEqual([clients.length, 0])
      })
    },
  )
})

test.each(ways)(
  "a connection that carries nothing any more is noticed, and its calls repeated: %s",
  async (_, connect) => {
    const database = await createDatabase(serviceDatabase())
    later(() => database.drop())
    const server = await startServer({ databaseUrl: database.url })
    later(() => server.stop())
    const proxy = await tcpProxy(Number(new URL(server.grpcUrl).port))
    later(proxy.close)
    const client = connect(`http://127.0.0.1:${proxy.port}`)
    expect(await client.adapter.getUser("nobody")).toBeNull()
    proxy.lose()
    const lost = client.adapter.getUser("nobody")
    let isAnswered = false
    void lost.finally(() => {
      isAnswered = true
    })
    let passedMs = 0
    await until(() => {
      // The next connection has as much time as it needs.
      if (proxy.accepted === 1) {
        jest.advanceTimersByTime(stepMs)
        passedMs += stepMs
      }
      return isAnswered
    })
    expect(await lost).toBeNull()
    expect(passedMs).toBeGreaterThan(checkMs)
    expect(passedMs).toBeLessThan(timeoutMs / 2)
    expect(proxy.accepted).toBe(2)
  },
)
