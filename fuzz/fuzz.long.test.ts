import { spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "@jest/globals"
import { heapGrowth } from "./heap-growth.ts"

const program = fileURLToPath(new URL("./main.ts", import.meta.url))

/** Runs fuzz/main.ts until it exits. */
async function fuzz(...args: string[]): Promise<{ code: number | null; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), "authwire-findings-"))
  const child = spawn(process.execPath, [program, `--folder=${folder}`, ...args], {
    env: { ...process.env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  let output = ""
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString()
  })
  const [code] = (await once(child, "close")) as [number | null]
  rmSync(folder, { recursive: true, force: true })
  return { code, output }
}

/**
 * Returns an option that loads a module into the server. The module runs a statement at the start of every HTTP/1.1
 * request.
 */
const onRequest = (what: string) =>
  `--import=data:text/javascript,${encodeURIComponent(
    `import { subscribe } from "node:diagnostics_channel"; subscribe("http.server.request.start", () => { ${what} })`,
  )}`

/** Opens connections to itself and keeps them until SIGTERM. */
const keepConnections = `({ createServer, connect }) => createServer().listen(0, "127.0.0.1", function () {
  for (let count = 0; count < 50; count++) connect(this.address().port, "127.0.0.1")
  process.once("SIGTERM", () => process.exit())
})`

describe("make fuzz", () => {
  // Each run has a different fifth of the hostile inputs. `make fuzz` has all of them.
  const [part, inputs] = [`${randomInt(1, 6)}/5`, 6_000]
  test(`finds nothing in a few thousand inputs, and in the hostile ones, part ${part}`, async () => {
    const { code, output } = await fuzz("--seed=7", `--inputs=${inputs}`, `--hostile-part=${part}`)
    expect(output).toContain("no findings")
    expect(code).toBe(0)
  }, 300_000)

  test.each([
    ["a promise that nobody handles", "Promise.reject(new Error('alone'))", "the server ended"],
    ["an exception out of nowhere", "setImmediate(() => { throw new Error('alone') })", "the server ended"],
    ["a request in the output", "console.log('c4n4ry-secret')", "a value of a request"],
    [
      "health that is late",
      "globalThis.late ??= Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5000)",
      "health took",
    ],
    [
      "connections that stay",
      `globalThis.kept ??= (${keepConnections})(process.getBuiltinModule("node:net"))`,
      "connections stay",
    ],
  ])("finds %s", async (_, what, found) => {
    const { code, output } = await fuzz("--seed=7", "--inputs=1000", "--skip-hostile", onRequest(what))
    expect(output).toContain(found)
    expect(code).toBe(1)
  })

  test("finds a heap that grows, and none that is only warming up", () => {
    const megabytes = (...all: number[]) => heapGrowth(all.map((one) => one * 1024 * 1024)).grows
    const flat = Array.from({ length: 40 }, (_, at) => 40 + (at % 3) / 10)
    expect(megabytes(...flat)).toBe(false)
    expect(megabytes(...flat.map((one, at) => (at < 5 ? one - 10 : one)))).toBe(false)
    expect(megabytes(...flat.map((one, at) => one + at / 5))).toBe(true)
  })
})
