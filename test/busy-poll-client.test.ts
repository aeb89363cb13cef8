import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals"
import { type Authwire, startAuthwire } from "./support/authwire.js"
import { describeServers, type TcpProxy, tcpProxy } from "./support/databases.js"
import { outcome, type PipelineClient, pipelineClient } from "./support/pipeline.js"
import { turnsWhile } from "./support/turns.js"

describeServers("while an answer of a service on %s is waited for", (target) => {
  let authwire: Authwire
  let proxy: TcpProxy
  let client: PipelineClient
  beforeAll(async () => {
    authwire = await startAuthwire(target)
    proxy = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
  })
  afterEach(async () => {
    client.close()
    await proxy.restore()
  })
  afterAll(async () => {
    await proxy.close()
    await authwire.close()
  })

  test.each([
    ["stays awake, also after calls that failed, with one call", 10_000, 1, true],
    ["sleeps, with two", 10_000, 2, false],
    ["sleeps, if it was told to", 0, 1, false],
  ])("the event loop of the client %s", async (_what, busyPollUs, calls, isAwake) => {
    client = pipelineClient({ url: `http://127.0.0.1:${proxy.port}`, busyPollUs })
    const call = (timeoutMs: number) => outcome(client.users.getUser({ id: "nobody" }, { timeoutMs }))
    expect(await call(5_000)).toBe("5")
    proxy.hang()
    const calling = () => Promise.all(Array.from({ length: calls }, () => call(60)))
    expect(new Set(await calling())).toEqual(new Set(["4"]))
    const { least, most } = await turnsWhile(calling)
    if (isAwake) expect(most).toBeGreaterThan(200)
    else expect(least).toBeLessThan(100)
  })
})
