import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

const progress = new URL("../../server/dist/cli/commands/progress.js", import.meta.url).href

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s ends a command with a progress bar, and shows the cursor",
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), "authwire-progress-"))
    const file = join(folder, "output")
    const output = openSync(file, "w")
    const script = `process.stderr.isTTY = true
    const { withProgress } = await import(${JSON.stringify(progress)})
    setInterval(() => {}, 1000)
    await withProgress("reading", 10, () => new Promise(() => {}))`
    // A file, which Node writes synchronously, as it does a terminal.
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "ignore", output],
    })
    closeSync(output)
    const ended = once(child, "close")
    await until(async () => child.exitCode !== null || readFileSync(file, "utf8").includes("0/10 rows"))
    expect(readFileSync(file, "utf8")).toContain("\u001b[?25l")
    child.kill(signal)
    expect(await ended).toEqual([null, signal])
    expect(readFileSync(file, "utf8")).toContain("\u001b[?25h")
    rmSync(folder, { recursive: true })
  },
)
