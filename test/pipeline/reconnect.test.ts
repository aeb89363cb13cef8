import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { createDatabase, databaseTargets, type TestDatabase, tcpProxy } from "@authwire/test-support/databases.js"
import { outcome, pipelineClient } from "@authwire/test-support/pipeline.js"
import { startServer } from "@authwire/test-support/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(databaseTargets().at(-1) ?? "sqlite")
})
afterAll(() => database.drop())

describe("a server that is killed and started again where it was", () => {
  test("is found again within two seconds; until then calls fail at once with UNAVAILABLE", async () => {
    const start = (port: number) =>
      startServer({ databaseUrl: database.url, args: [`--grpc-addr=127.0.0.21:${port}`, "--log-level=warn"] })
    const first = await start(0)
    const client = pipelineClient({ url: first.grpcUrl })
    const read = () => outcome(client.adapter.getUser("nobody"))
    const write = () => outcome(client.adapter.createUser({ name: "n", emailVerified: null } as never))
    expect(await read()).toBe("OK")
    await first.stop("SIGKILL")

    // For long enough that the pauses between the attempts have grown.
    let ready = false
    const starting = start(Number(new URL(first.grpcUrl).port)).then((server) => {
      ready = true
      return server
    })
    while (!ready) {
      const begun = performance.now()
      const ends = await Promise.all([write(), write(), read()])
      if (!ready) {
        expect(ends).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"])
        expect(performance.now() - begun).toBeLessThan(2_000)
      }
    }
    const second = await starting
    const since = performance.now()
    await until(async () => (await write()) === "OK")
    expect(performance.now() - since).toBeLessThan(3_000)
    client.close()
    await second.stop()
  })
})

describe("an outage", () => {
  test("of which a thousand calls and more learn costs a few attempts to connect", async () => {
    let attempts = 0
    const server = createServer((socket) => {
      attempts++
      socket.destroy()
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as { port: number }
    const client = pipelineClient({ url: `http://127.0.0.1:${port}` })
    const end = performance.now() + 2_500
    let calls = 0
    while (performance.now() < end) {
      expect(await outcome(client.users.createUser({ name: "n" }))).toBe("14")
      calls++
    }
    expect(calls).toBeGreaterThan(1_000)
    // After 0, 50 to 100, 100 to 200, … milliseconds.
    expect(attempts).toBeGreaterThan(3)
    expect(attempts).toBeLessThan(15)
    client.close()
    server.close()
  })
})

describe("a script that uses the client", () => {
  const script = async (url: string, code: string, onOutput = () => {}) => {
    const text = `
      import { createAuthwireClient } from "@authwire/client"
      const client = createAuthwireClient({ url: ${JSON.stringify(url)} })
      ${code}
      const last = performance.now()
      process.on("exit", () => console.log(Math.round(performance.now() - last)))`
    const child = spawn(process.execPath, ["--input-type=module", "--eval", text], {
      env: { ...process.env, NODE_OPTIONS: "" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    let output = ""
    child.stdout.on("data", (chunk) => {
      output += chunk
      onOutput()
    })
    const [status] = await once(child, "close")
    expect(status).toBe(0)
    return output.trim().split("\n")
  }
  let url: string
  let stop: () => Promise<unknown>
  beforeAll(async () => {
    const server = await startServer({ databaseUrl: database.url, args: ["--log-level=warn"] })
    url = server.grpcUrl
    stop = server.stop
  })
  afterAll(() => stop())

  test("ends by itself within two seconds of its last call, although it does not close the client", async () => {
    const [idleMs] = await script(url, `await client.adapter.getUser("nobody")`)
    expect(Number(idleMs)).toBeLessThan(2_000)
  })

  test("ends at once when it closes the client", async () => {
    const [idleMs] = await script(url, `await client.adapter.getUser("nobody"); client.close()`)
    expect(Number(idleMs)).toBeLessThan(300)
  })

  test("that closes the client during a call ends when that is answered", async () => {
    const [answer, idleMs] = await script(
      url,
      `await client.adapter.getUser("nobody")
       client.adapter.getUser("nobody").then(console.log)
       client.close()`,
    )
    expect(answer).toBe("null")
    expect(Number(idleMs)).toBeLessThan(1_000)
  })

  test("whose only call was given up before it was connected ends too", async () => {
    const proxy = await tcpProxy(Number(new URL(url).port))
    proxy.hang()
    const [code, idleMs] = await script(
      `http://127.0.0.1:${proxy.port}`,
      `await client.users.getUser({ id: "nobody" }, { timeoutMs: 200 }).catch(({ code }) => console.log(code))`,
      proxy.restore,
    )
    expect(code).toBe("4")
    expect(Number(idleMs)).toBeLessThan(2_000)
    await proxy.close()
  })
})
