import { outcome, pipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { createNetworkNamespace, hasNetworkNamespaces } from "@authwire/test-support/machine/network-namespace.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

/** How long a connection is silent before the client checks it, plus the timeout of the check. */
const noticeMs = 20_000 + 5_000
const withNetworks = hasNetworkNamespaces() ? test : test.skip

withNetworks(
  "a silent network to one of two servers is noticed by the checks of the client, and the other server is used",
  async () => {
    await using resources = new AsyncDisposableStack()
    const network = createNetworkNamespace()
    resources.defer(network.remove)
    // Not on loopback, so --dev is not possible.
    const key = staticKey(["all"])
    const env = { AUTHWIRE_INSECURE_BEHIND_PROXY: "true", AUTHWIRE_API_KEYS: JSON.stringify([key.entry]) }
    const start = async (options: { args: string[]; prefix?: readonly string[] }) => {
      const database = await createDatabase("sqlite")
      resources.defer(() => database.drop())
      const server = await startServer({ databaseUrl: database.url, keys: false, env, ...options })
      resources.defer(async () => void (await server.stop("SIGKILL")))
      return server
    }
    const near = await start({ args: [`--grpc-addr=${network.near}:0`] })
    const { port } = new URL(near.grpcUrl)
    const far = await start({ args: [`--grpc-addr=${network.far}:${port}`], prefix: network.prefix })
    const hosts = [network.far, network.near]
    // The wall clock is constant, so that a busy machine does not look like one that was suspended, after which the client
    // leaves both connections at once.
    const found = { url: `dns:///authwire.test:${port}`, resolve: async () => hosts, wallClock: () => 0 }
    const client = pipelineClient({ apiKey: key.text, ...found })
    resources.defer(client.close)
    await until(async () => {
      await client.adapter.getUser("nobody")
      return [near, far].every((server) => server.log().includes("GetUser"))
    })

    network.pull()
    const since = performance.now()
    const twenty = (call: () => Promise<unknown>) => Array.from({ length: 20 }, () => outcome(call()))
    const reads = twenty(() => client.users.getUser({ id: "nobody" }, { timeoutMs: 60_000 }))
    const writes = twenty(() => client.users.createUser({ name: "n" }, { timeoutMs: 60_000 }))
    const short = twenty(() => client.users.createUser({ name: "n" }, { timeoutMs: 3_000 }))
    // Up to 16 concurrent calls are sent together, so it is not exactly half of them, but never all.
    const { OK = 0, DEADLINE_EXCEEDED: late = 0, ...others } = tally(await Promise.all(short))
    expect([OK + late, OK >= 4, late >= 4, others]).toEqual([20, true, true, {}])
    expect(performance.now() - since).toBeLessThan(15_000)
    // Not found, for some of them at the second try.
    expect(tally(await Promise.all(reads))).toEqual({ NOT_FOUND: 20 })
    // Calls whose responses are lost are repeated at the other server.
    expect(tally(await Promise.all(writes))).toEqual({ OK: 20 })
    expect(performance.now() - since).toBeLessThan(noticeMs + 15_000)
    const next = twenty(() => client.users.createUser({ name: "n" }))
    expect(tally(await Promise.all(next))).toEqual({ OK: 20 })

    network.plug()
    await near.stop("SIGKILL")
    await until(async () => (await outcome(client.adapter.getUser("nobody"))) === "OK")
  },
)
