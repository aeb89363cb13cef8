import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { setTimeout as delay } from "node:timers/promises"
import { codeBelow } from "@authwire/test-support/applications/pages.js"
import { outcome, pipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { type Later, withEndings } from "@authwire/test-support/endings.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"
import { clientOver } from "../../client/src/client.js"
import { grpcTransportOf } from "../../client/src/transport/grpc.js"

/** The deadline of every call. On a dead connection it passes. */
const timeoutMs = 10_000
/** The time after which the client would itself notice that a connection is dead. */
const noticeMs = 20_000

const authwire = useAuthwire(serviceDatabase())

async function openProxy(later: Later, listener: "grpcUrl" | "httpUrl" = "grpcUrl") {
  const proxy = await tcpProxy(Number(new URL(authwire.server[listener]).port))
  later(proxy.close)
  return { proxy, url: `http://127.0.0.1:${proxy.port}` }
}

const usersWith = async (id: string) => (await authwire.rows("SELECT id FROM users WHERE id = ?", [id])).length

/** Programs that create an `adapter` for AUTHWIRE_URL, and the listener that they use. */
const clients = [
  [
    "the pipeline",
    "grpcUrl",
    `import { createAuthwireClient } from "@authwire/client"
    const { adapter } = createAuthwireClient({ url: process.env.AUTHWIRE_URL, timeoutMs: ${timeoutMs} })`,
  ],
  [
    "unary calls",
    "grpcUrl",
    `import { createAuthwireClient, grpcTransport } from "@authwire/client"
    const { AUTHWIRE_URL: url } = process.env
    const { adapter } = createAuthwireClient({ url, timeoutMs: ${timeoutMs}, transport: grpcTransport({ url }) })`,
  ],
  [
    "fetch, as docs/runtimes.md has it",
    "httpUrl",
    codeBelow("docs/runtimes.md", "The fetch client on Node", "ts").join(),
  ],
] as const

/**
 * Runs a client in a separate process and stops the process between its first and its second call. Returns the outcome
 * of the second call and how many milliseconds the process lived after it.
 */
async function stopBetweenCalls(
  { client, url }: { client: string; url: string },
  call: string,
  stoppedMs: number,
  meanwhile: () => void,
) {
  const code = `
    ${client}
    await adapter.getUser("nobody")
    console.log("stop me")
    process.stdin.once("data", async () => {
      process.stdin.destroy()
      const end = await adapter.${call}.then(() => "OK", ({ code }) => code)
      const last = performance.now()
      console.log(end)
      process.on("exit", () => console.log(Math.round(performance.now() - last)))
    })`
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--no-warnings", "--eval", code], {
    env: { ...process.env, NODE_OPTIONS: "", AUTHWIRE_URL: url },
    stdio: ["pipe", "pipe", "inherit"],
  })
  const closed = once(child, "close")
  const lines: string[] = []
  const output = createInterface(child.stdout).on("line", (line) => lines.push(line))
  await once(output, "line")
  child.kill("SIGSTOP")
  meanwhile()
  // The stop must last this long for the test.
  await delay(stoppedMs)
  child.stdin.write("go\n")
  child.kill("SIGCONT")
  await closed
  return { end: lines[1], livedMs: Number(lines[2]) }
}

describe.each(clients)(
  "a process that was stopped, with a client that makes its calls by %s",
  (_, listener, client) => {
    // All at the same time, because each waits for as long as its process is stopped.
    test.concurrent.each([
      [1_000, "read"],
      [1_000, "write"],
      [3_000, "read"],
      [3_000, "write"],
    ])(
      "for %i ms, and its connection dropped without a word: the next %s is answered",
      withEndings(async (later, stoppedMs: number, kind: string) => {
        const { proxy, url } = await openProxy(later, listener)
        const id = crypto.randomUUID()
        const call = kind === "read" ? `getUser("nobody")` : `createUser({ id: "${id}", emailVerified: null })`
        const { end, livedMs } = await stopBetweenCalls({ client, url }, call, stoppedMs, proxy.lose)
        expect(end).toBe("OK")
        expect(proxy.accepted).toBe(2)
        expect(livedMs).toBeLessThan(noticeMs / 2)
        expect(await usersWith(id)).toBe(kind === "read" ? 0 : 1)
      }),
    )

    test.concurrent(
      "gets a response too if its connection is intact",
      withEndings(async (later) => {
        const { url } = await openProxy(later, listener)
        expect((await stopBetweenCalls({ client, url }, `getUser("nobody")`, 1_000, () => {})).end).toBe("OK")
      }),
    )
  },
)

const overGrpc = [
  ["the pipeline", pipelineClient],
  [
    "unary calls",
    (options: Parameters<typeof pipelineClient>[0]) => {
      const transport = grpcTransportOf(options)
      return { ...clientOver({ transport, address: "the service" }, options), close: transport.close }
    },
  ],
] as const

test.concurrent.each(overGrpc)(
  "calls that were active in a suspension, and whose connection was dropped meanwhile, are repeated long before their deadline: %s",
  withEndings(async (later, _, open) => {
    const { proxy, url } = await openProxy(later)
    let suspendedMs = 0
    // There is no other check than that after the suspension.
    const client = open({ url, timeoutMs: 40_000, checkMs: 600_000, wallClock: () => Date.now() + suspendedMs })
    later(async () => client.close())
    await client.adapter.getUser("nobody")
    proxy.lose()
    const id = crypto.randomUUID()
    const active = [client.adapter.getUser("nobody"), client.users.createUser({ id })].map(outcome)
    await new Promise((resolve) => setImmediate(resolve))
    suspendedMs = 1_000
    expect(await outcome(client.adapter.getUser("nobody"))).toBe("OK")
    expect(tally(await Promise.all(active))).toEqual({ OK: 2 })
    expect(await usersWith(id)).toBe(1)
  }),
)
