import { http2Proxy } from "@authwire/test-support/connections/http2-proxy.js"
import { outcome, pipelineClient, startReplicas, tally } from "@authwire/test-support/connections/pipeline.js"
import { tcpBalancer } from "@authwire/test-support/connections/tcp-balancer.js"
import { createDatabase, describeServer } from "@authwire/test-support/databases/databases.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { load } from "./load.js"

describeServer("two servers", (target) => {
  test("restarted in turn under the load of 32 callers: no call fails, and every write is done once", async () => {
    const database = await createDatabase(target)
    const replicas = await startReplicas([database.url, database.url], ["--log-level=warn"])
    const balancer = await tcpBalancer(replicas.hosts, replicas.port)
    const spread = { url: replicas.url, resolve: replicas.resolve }
    const balanced = { url: `http://127.0.0.1:${balancer.port}` }
    const loads = {
      "all addresses, one pipeline each": load(pipelineClient(spread), 8),
      "all addresses, two pipelines each": load(pipelineClient({ ...spread, connections: 2 }), 8),
      "behind one address, one pipeline": load(pipelineClient(balanced), 8),
      "behind one address, two pipelines": load(pipelineClient({ ...balanced, connections: 2 }), 8),
    }
    const goOn = () => Promise.all(Object.values(loads).map((one) => one.goesOn()))
    let created = 0
    try {
      for (const index of [0, 1, 0, 1, 0, 1]) {
        await goOn()
        await replicas.restart(index)
      }
      await goOn()
    } finally {
      for (const [name, one] of Object.entries(loads)) {
        const end = await one.stop()
        expect([name, Object.keys(end.outcomes)]).toEqual([name, ["OK"]])
        created += end.created
      }
    }
    expect(Number((await database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)).toBe(created)
    await balancer.close()
    await replicas.stop()
    await database.drop()
  })

  test("behind a proxy that hides the end of a connection: no call fails when one of them stops", async () => {
    const database = await createDatabase(target)
    const replicas = await startReplicas([database.url, database.url], ["--log-level=warn"])
    const proxy = await http2Proxy(replicas.server(0).grpcUrl)
    // The wall clock is constant, so that a busy machine does not look like one that was suspended.
    const working = load(pipelineClient({ url: proxy.url, wallClock: () => 0 }), 32)
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      await working.goesOn()
      proxy.moveTo(replicas.server(to).grpcUrl)
      await replicas.restart(from)
    }
    await working.goesOn()
    const { outcomes, created } = await working.stop()
    expect(Object.keys(outcomes)).toEqual(["OK"])
    expect(proxy.counts).toEqual({ pipelines: 3, others: 0 })
    expect(Number((await database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)).toBe(created)
    await proxy.close()
    await replicas.stop()
    await database.drop()
  })
})

describeServer("a client of two servers", (target) => {
  test("one is restarted while the client is idle: the next write goes to the other", async () => {
    const database = await createDatabase(target)
    const replicas = await startReplicas([database.url, database.url])
    const client = pipelineClient({ url: replicas.url, resolve: replicas.resolve })
    await Promise.all(Array.from({ length: 10 }, () => client.adapter.getUser("nobody")))
    // Its streams have ended, but its connections are open.
    const streamsOf = (index: number) => replicas.server(index).log().split("PipelineService/Pipeline").length - 1
    await until(() => streamsOf(0) > 0 && streamsOf(1) > 0)
    for (const index of [0, 1]) {
      await replicas.server(index).stop("SIGTERM")
      const writes = Array.from({ length: 20 }, () =>
        outcome(client.adapter.createUser({ name: "rested", emailVerified: null } as never)),
      )
      expect(tally(await Promise.all(writes))).toEqual({ OK: 20 })
      if (index === 0) await replicas.restart(0)
    }
    client.close()
    await replicas.stop()
    await database.drop()
  })
})
