import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createAuthwireClient } from "@authwire/client"
import { blocksOf, folderWithCheckout, runBlock } from "@authwire/test-support/applications/pages.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { takenPorts } from "@authwire/test-support/machine/default-ports.js"
import { languages } from "@authwire/test-support/machine/languages.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { hasPrinted, outputOf } from "@authwire/test-support/processes/output.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { placedAt } from "./placements.js"
import { printed, runPrinted } from "./printed.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Follows the pages as a reader does: `make run` in one terminal, in others the commands as they stand, in their order. */
const isFree = (await takenPorts()).length === 0
;(isFree ? describe : describe.skip)("beside `make run`, on the ports that the pages name", () => {
  const folder = folderWithCheckout()
  // With the settings and caches of npm and of the languages. An option of Node for the tests is none for them.
  const { NODE_OPTIONS: _, ...env } = process.env as Record<string, string>
  const client = createAuthwireClient({ url: "http://127.0.0.1:50051" })
  /** What runs until the end, as in the reader's terminals. Each is a process group with all that it has started. */
  const terminals: { child: ChildProcess; closed: Promise<unknown> }[] = []
  let empty: TestDatabase

  function open(code: string, more: Record<string, string> = {}) {
    const options = { cwd: folder, env: { ...env, ...more }, detached: true } as const
    const child = spawn("bash", ["-euo", "pipefail", "-c", code], { ...options, stdio: ["ignore", "pipe", "pipe"] })
    terminals.push({ child, closed: once(child, "close") })
    return { child, output: outputOf(child) }
  }

  beforeAll(async () => {
    empty = await createDatabase("sqlite")
    const { child, output } = open(blocksOf("docs/start/backend.md")[0]?.code ?? "")
    if (!(await hasPrinted(child, output, /http listener at/))) throw new Error(output.both)
  }, 240_000)
  afterAll(async () => {
    client.close()
    for (const { child, closed } of terminals.reverse()) {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), "SIGTERM")
      await closed
    }
    await empty.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test("the console answers", async () => {
    expect((await fetch("http://127.0.0.1:8090/")).status).toBeLessThan(500)
  })

  test.each(placedAt("test/repository/readme.test.ts"))("%s, block %i", async (page, block) => {
    await runBlock(blocksOf(page)[block]?.code ?? "", folder)
  })

  test.each(printed)("%s, block %i", async (page, block, output) => {
    const text = await runPrinted(page, block, {
      folder,
      grpc: "127.0.0.1:50051",
      http: "127.0.0.1:8080",
      adapter: client.adapter,
      databaseUrl: `sqlite:${join(folder, "authwire/.authwire/authwire.db")}`,
      emptyUrl: empty.url,
    })
    expect(text).toMatch(output)
  })

  for (const { name, folder: fence, tools } of languages) {
    const withTools = tools.every(hasTool) ? test : test.skip
    // Each stays running beside the next.
    withTools(
      `the commands for ${name} build the program, which reaches the service`,
      async () => {
        const [commands, ...program] = blocksOf("docs/other-languages.md").filter(({ heading }) => heading === name)
        // The page shows the program in one language.
        const shown = name === "Python" ? [fence] : []
        expect([commands?.language, program.map(({ language }) => language)]).toEqual(["sh", shown])
        const url = String(/ serve +# (http:\S+)\n$/.exec(commands?.code ?? "")?.[1])
        const { child, output } = open(commands?.code ?? "", {
          // What Cargo compiles on the way is shared with test/examples, which needs no symbols either. The program has the name
          // of the example, so it is built into a folder of its own.
          CARGO_PROFILE_DEV_DEBUG: "false",
          CARGO_BUILD_BUILD_DIR: `${root}/build/languages/rust`,
          CARGO_TARGET_DIR: join(folder, "rust"),
        })
        const answer = () => fetch(url).catch(() => undefined)
        await until(async () => child.exitCode !== null || (await answer()) !== undefined, 14 * 60_000)
        if (child.exitCode !== null) throw new Error(output.both)
        // Nobody is signed in. Without an answer of the service it would be 503.
        expect((await answer())?.status).toBe(401)
      },
      15 * 60_000,
    )
  }
})
