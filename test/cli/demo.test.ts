import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createBrowser, textOf } from "@authwire/test-support/applications/browser.js"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { hasPrinted, outputOf } from "@authwire/test-support/processes/output.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"

const script = fileURLToPath(new URL("../../scripts/demo", import.meta.url))

describe("scripts/demo", () => {
  let folder: string
  let demo: ChildProcess | undefined

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "authwire-demo-"))
  })

  afterEach(() => {
    demo?.kill("SIGTERM")
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  function start(variables: Record<string, string> = {}) {
    const transports = { AUTHWIRE_GRPC_ADDR: "127.0.0.1:0", AUTHWIRE_HTTP_ADDR: "127.0.0.1:0" }
    const ports = { PORT: "0", OIDC_PORT: "0", SMTP_PORT: "0", MAILBOX_PORT: "0" }
    // In a separate folder, so that the demo does not use an existing embedded database.
    const child = spawn(script, {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...transports, ...ports, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
    })
    demo = child
    const output = outputOf(child)
    const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>
    return { child, closed, output }
  }

  test("starts everything, lets a user sign in, and leaves no process running", async () => {
    const { child, closed, output } = start()
    await hasPrinted(child, output, /Ctrl-C ends all of it/)
    const appUrl = /the application +(\S+)/.exec(output.both)?.[1]
    if (!appUrl) throw new Error(`no demo:\n${output.both}`)
    const browser = createBrowser()
    const loginPage = await browser.submit(await browser.open(appUrl), "sign-in-demo")
    expect(textOf(await browser.submit(loginPage, undefined, { person: "q7XbK2" }), "name")).toBe("Ada Lovelace")

    const answer = await fetch(/http:\S+GetUserByEmail/.exec(output.both)![0], {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"email": "ada@demo.example"}',
    })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Ada Lovelace")])

    child.kill("SIGTERM")
    expect(await closed).toEqual([0, null])
    // Its outputs are closed when the last process that holds them has ended, so all processes have ended.
    for (const [url] of output.both.matchAll(/http:\/\/127\.0\.0\.1:\d+/g)) await expect(fetch(url)).rejects.toThrow()
  })

  test("reports in one line that a port is taken", async () => {
    const other = createServer()
    const port = await listen(other)
    const { closed, output } = start({ PORT: String(port) })
    expect(await closed).toEqual([1, null])
    other.close()
    const lines = output.both.split("\n")
    expect(lines.filter((line) => line.includes(`127.0.0.1:${port}`))).toEqual([expect.stringMatching(/taken|in use/)])
    expect(output.both).not.toMatch(/^\s+at /m)
  })
})
