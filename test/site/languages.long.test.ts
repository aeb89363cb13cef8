import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Block, blocksOf, runBlock } from "@authwire/test-support/applications/pages.js"
import { languages } from "@authwire/test-support/machine/languages.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const blocks = blocksOf("docs/other-languages.md")

/**
 * Runs the commands of the page in a new folder. test/examples tests what the programs do; here they only have to run
 * outside of their folders.
 */
describe("docs/other-languages.md", () => {
  const key = staticKey(["all"])
  const folder = mkdtempSync(join(tmpdir(), "authwire-languages-"))
  symlinkSync(root, join(folder, "authwire"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const authwire = useAuthwire("sqlite", { keys: [key] })

  for (const { name, folder: fence, tools } of languages) {
    const [commands, program, ...rest] = blocks.filter(({ heading }) => heading === name)
    const withTools = tools.every(hasTool) ? test : test.skip
    withTools(
      `the commands for ${name} build the example, which reaches the service`,
      async () => {
        expect([commands?.language, program?.language, rest]).toEqual(["sh", fence, []])
        // With the settings and caches of the languages.
        const { NODE_OPTIONS: _, ...inherited } = process.env as Record<string, string>
        const env = {
          ...inherited,
          AUTHWIRE_URL: authwire.server.grpcUrl,
          AUTHWIRE_API_KEY: key.text,
          // The program has the name of the example, so it is built into a folder of its own. What Cargo compiles on the way
          // is shared with test/examples, which needs no symbols either.
          CARGO_PROFILE_DEV_DEBUG: "false",
          CARGO_BUILD_BUILD_DIR: `${root}/build/languages/rust`,
          CARGO_TARGET_DIR: join(folder, "rust"),
        }
        const { code } = commands as Block
        expect(code).toMatch(/ serve\n$/)
        // `serve` does not end.
        const email = `${fence}@example.com`
        const output = await runBlock(code.replace(/serve\n$/, `user ${email}\n`), folder, env)
        // Maven resets the colours of the terminal, also where there is none.
        expect(JSON.parse(output.replaceAll("\u001b[0m", ""))).toMatchObject({ email, created: true })
      },
      15 * 60_000,
    )
  }
})
