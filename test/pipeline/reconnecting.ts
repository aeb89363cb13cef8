import { spawn } from "node:child_process"
import { once } from "node:events"
import { outcome, pipelineClient } from "@authwire/test-support/connections/pipeline.js"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect } from "@jest/globals"

/**
 * Kills a server and restarts it at its address. Calls must fail with UNAVAILABLE until then, and succeed afterwards.
 * Returns the duration of the slowest failed call and the time until the new server was found, in milliseconds.
 */
export async function killAndStartAgain(databaseUrl: string) {
  const start = (port: number) =>
    startServer({ databaseUrl, args: [`--grpc-addr=127.0.0.21:${port}`, "--log-level=warn"] })
  const first = await start(0)
  const client = pipelineClient({ url: first.grpcUrl })
  const read = () => outcome(client.adapter.getUser("nobody"))
  const write = () => outcome(client.adapter.createUser({ name: "n", emailVerified: null } as never))
  expect(await read()).toBe("OK")
  await first.stop("SIGKILL")

  // Long enough for the pauses between attempts to grow.
  let ready = false
  const starting = start(Number(new URL(first.grpcUrl).port)).then((server) => {
    ready = true
    return server
  })
  let failedMs = 0
  while (!ready) {
    const begun = performance.now()
    const ends = await Promise.all([write(), write(), read()])
    if (!ready) {
      expect(ends).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"])
      failedMs = Math.max(failedMs, performance.now() - begun)
    }
  }
  const second = await starting
  const since = performance.now()
  await until(async () => (await write()) === "OK")
  const foundMs = performance.now() - since
  client.close()
  await second.stop()
  return { failedMs, foundMs }
}

/** Scripts that use the client, their output, and the time within which they must exit after their last line. */
export const scripts = [
  {
    name: "that does not close the client",
    code: `await client.adapter.getUser("nobody")`,
    prints: [],
    idleMs: 2_000,
  },
  {
    name: "that closes the client",
    code: `await client.adapter.getUser("nobody"); client.close()`,
    prints: [],
    idleMs: 300,
  },
  {
    name: "that closes the client during a call, which is answered,",
    code: `
      await client.adapter.getUser("nobody")
      client.adapter.getUser("nobody").then(console.log)
      client.close()`,
    prints: ["null"],
    idleMs: 1_000,
  },
]

/** A script whose only call is cancelled before it is connected. */
export const givenUp = {
  code: `await client.users.getUser({ id: "nobody" }, { timeoutMs: 200 }).catch(({ code }) => console.log(code))`,
  prints: ["DEADLINE_EXCEEDED"],
  idleMs: 2_000,
}

/** Runs a script until it exits. Returns its lines, and how many milliseconds it lived after its last statement. */
export async function runScript(url: string, code: string, onOutput = () => {}) {
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
  const lines = output.trim().split("\n")
  return { prints: lines.slice(0, -1), idleMs: Number(lines.at(-1)) }
}

/** Runs `givenUp` behind a network that hangs until the call has ended. */
export async function runGivenUp(url: string) {
  const proxy = await tcpProxy(Number(new URL(url).port))
  proxy.hang()
  try {
    return await runScript(`http://127.0.0.1:${proxy.port}`, givenUp.code, proxy.restore)
  } finally {
    await proxy.close()
  }
}
