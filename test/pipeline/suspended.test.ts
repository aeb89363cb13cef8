import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { setTimeout as delay } from "node:timers/promises"
import { type Authwire, startAuthwire } from "@authwire/test-support/authwire.js"
import { databaseTargets } from "@authwire/test-support/databases.js"
import { outcome, pipelineClient } from "@authwire/test-support/pipeline.js"
import { type TcpProxy, tcpProxy } from "@authwire/test-support/tcp-proxy.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"

/** The deadline of every call: on a connection that is dead it passes. */
const timeoutMs = 1_000
/** The client would find out by itself that a connection is dead, but not before this. */
const keepaliveMs = 20_000

let authwire: Authwire
let proxy: TcpProxy
beforeAll(async () => {
  authwire = await startAuthwire(databaseTargets().at(-1) ?? "sqlite")
})
afterAll(() => authwire.close())
beforeEach(async () => {
  proxy = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
})
afterEach(() => proxy.close())

const address = () => `http://127.0.0.1:${proxy.port}`
const usersWith = async (id: string) => (await authwire.rows("SELECT id FROM users WHERE id = ?", [id])).length

const clients = {
  pipeline: "createAuthwireClient({ url, timeoutMs })",
  unary: "createAuthwireClient({ url, timeoutMs, transport: grpcTransport({ url }) })",
}

/**
 * Runs a client in a process of its own, stops that between its first call and its second, and answers how the second
 * ended and for how many milliseconds the process lived after it.
 */
async function stopBetweenCalls(client: string, call: string, stoppedMs: number, meanwhile: () => void) {
  const code = `
    import { createAuthwireClient, grpcTransport } from "@authwire/client"
    const [url, timeoutMs] = [${JSON.stringify(address())}, ${timeoutMs}]
    const { adapter } = ${client}
    await adapter.getUser("nobody")
    console.log("stop me")
    process.stdin.once("data", async () => {
      process.stdin.destroy()
      const end = await adapter.${call}.then(() => "OK", ({ code }) => code)
      const last = performance.now()
      console.log(end)
      process.on("exit", () => console.log(Math.round(performance.now() - last)))
    })`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    env: { ...process.env, NODE_OPTIONS: "" },
    stdio: ["pipe", "pipe", "inherit"],
  })
  const closed = once(child, "close")
  const lines: string[] = []
  const output = createInterface(child.stdout).on("line", (line) => lines.push(line))
  await once(output, "line")
  child.kill("SIGSTOP")
  meanwhile()
  // How long it is stopped is what this is about.
  await delay(stoppedMs)
  child.stdin.write("go\n")
  child.kill("SIGCONT")
  await closed
  return { end: lines[1], livedMs: Number(lines[2]) }
}

describe.each(Object.entries(clients))(
  "a process that was stopped, with a client that makes its calls: %s",
  (_, client) => {
    test.each([
      [1_000, "read"],
      [1_000, "write"],
      [3_000, "read"],
      [3_000, "write"],
    ])("for %i ms, and its connection dropped without a word: the next %s is answered", async (stoppedMs, kind) => {
      const id = crypto.randomUUID()
      const call = kind === "read" ? `getUser("nobody")` : `createUser({ id: "${id}", emailVerified: null })`
      const { end, livedMs } = await stopBetweenCalls(client, call, stoppedMs, proxy.lose)
      expect(end).toBe("OK")
      expect(proxy.accepted).toBe(2)
      expect(livedMs).toBeLessThan(keepaliveMs / 2)
      expect(await usersWith(id)).toBe(kind === "read" ? 0 : 1)
    })

    test("is answered too when its connection was left alone", async () => {
      expect((await stopBetweenCalls(client, `getUser("nobody")`, 1_000, () => {})).end).toBe("OK")
    })
  },
)

describe.each([30_000, 400_000])("a process that was suspended for %i ms, by its clock", (gapMs) => {
  let aheadMs = 0
  const connect = () => pipelineClient({ url: address(), timeoutMs, wallClock: () => Date.now() + aheadMs })

  test("makes its next calls on a new connection", async () => {
    const client = connect()
    const read = () => outcome(client.adapter.getUser("nobody"))
    expect(await read()).toBe("OK")
    proxy.lose()
    aheadMs += gapMs
    expect(await Promise.all([read(), read()])).toEqual(["OK", "OK"])
    expect(await read()).toBe("OK")
    expect(proxy.accepted).toBe(2)
    client.close()
  })

  test("closes the connection that it had", async () => {
    const client = connect()
    expect(await outcome(client.adapter.getUser("nobody"))).toBe("OK")
    aheadMs += gapMs
    expect(await outcome(client.adapter.getUser("nobody"))).toBe("OK")
    expect(proxy.accepted).toBe(2)
    await until(() => proxy.open === 1)
    client.close()
  })

  test("does not repeat a write that was on its way, and gets its answer", async () => {
    const client = connect()
    expect(await outcome(client.adapter.getUser("nobody"))).toBe("OK")
    proxy.hang()
    const id = crypto.randomUUID()
    const write = outcome(client.users.createUser({ id }))
    await new Promise(setImmediate)
    aheadMs += gapMs
    const read = outcome(client.adapter.getUser("nobody"))
    await proxy.restore()
    expect(await Promise.all([write, read])).toEqual(["OK", "OK"])
    expect(proxy.accepted).toBe(2)
    expect(await usersWith(id)).toBe(1)
    client.close()
  })
})
