import { createAuthwireClient } from "@authwire/client"
import { healthAnswers } from "@authwire/test-support/connections/health.js"
import { readyBalancer } from "@authwire/test-support/connections/ready-balancer.js"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

// Long enough for the steps of a test on a busy machine. The delay ends with the process.
const delay = "--drain-delay-ms=8000"
const stopping = (server: ServerProcess) => () => logOf(server).some(({ msg }) => String(msg).startsWith("stopping"))
const target = serviceDatabase()

/** Makes a call over a new connection. */
async function call(url: string): Promise<unknown> {
  const client = createAuthwireClient({ url, timeoutMs: 30_000 })
  try {
    return await client.adapter.getUser("nobody")
  } finally {
    client.close()
  }
}

describe("SIGTERM with --drain-delay-ms", () => {
  test(`behind a balancer that checks readiness: no call fails: the replica serves until the balancer has noticed that it is not ready`, async () => {
    const databases = [await createDatabase(target), await createDatabase(target)]
    const servers = await Promise.all(databases.map(({ url }) => startServer({ databaseUrl: url, args: [delay] })))
    const [leaving, staying] = servers as [ServerProcess, ServerProcess]
    const balancer = await readyBalancer(servers)
    expect(balancer.ready()).toEqual([leaving.grpcUrl, staying.grpcUrl])

    const stopped = leaving.stop("SIGTERM")
    await until(stopping(leaving))
    // The balancer has not checked since, so it sends every other connection to the stopping replica.
    const before = logOf(leaving).filter(({ msg }) => msg === "call").length
    for (let calls = 0; calls < 6; calls++) expect(await call(balancer.url)).toBeNull()
    expect(logOf(leaving).filter(({ msg }) => msg === "call").length).toBeGreaterThan(before)
    expect(new Set(await healthAnswers(leaving, 1))).toEqual(new Set(["NOT_SERVING"]))

    await balancer.look()
    expect(balancer.ready()).toEqual([staying.grpcUrl])
    expect(await stopped).toBe(0)
    for (let calls = 0; calls < 6; calls++) expect(await call(balancer.url)).toBeNull()
    await balancer.close()
    expect(await staying.stop("SIGKILL")).toBeNull()
    for (const database of databases) await database.drop()
  })
})
