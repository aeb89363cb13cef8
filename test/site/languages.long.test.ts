import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { createAuthwireClient } from "@authwire/client"
import { type Block, blocksOf, runBlock } from "@authwire/test-support/applications/pages.js"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { languages } from "@authwire/test-support/machine/languages.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { authority, certificateFolder, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const blocks = blocksOf("docs/other-languages.md")

/** Follows the page in a new folder for each language. Nothing is added to what the page says. */
describe("docs/other-languages.md", () => {
  const key = staticKey(["all"])
  const transport = certificateFolder(serverCertificate())
  const trusted = certificateFolder(authority)
  const folder = mkdtempSync(join(tmpdir(), "authwire-languages-"))
  let database: TestDatabase
  let plain: ServerProcess
  let secure: ServerProcess
  let userId: string

  beforeAll(async () => {
    symlinkSync(root, join(folder, "authwire"))
    database = await createDatabase("sqlite")
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([key.entry]) }
    plain = await startServer({ databaseUrl: database.url, keys: false, env })
    secure = await startServer({ databaseUrl: database.url, keys: false, env, args: transport.args })
    const client = createAuthwireClient({ url: plain.grpcUrl, apiKey: key.text })
    const user = await client.adapter.createUser({ id: crypto.randomUUID(), email: "a@b.c", emailVerified: null })
    userId = user.id
    const expires = new Date(Date.now() + 3_600_000)
    await client.adapter.createSession({ sessionToken: "abc", userId, expires })
    client.close()
  })
  afterAll(async () => {
    for (const server of [plain, secure]) await server?.stop()
    await database?.drop()
    for (const one of [transport, trusted]) one.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const { name, folder: fence, tools } of languages) {
    const [prepare, program, start, ...rest] = blocks.filter(({ heading }) => heading === name)
    const withTools = tools.every(hasTool) ? test : test.skip
    withTools(
      `the program in ${name} says who is signed in, without and with TLS, and why it cannot tell`,
      async () => {
        expect([prepare?.language, program?.language, start?.language, rest]).toEqual(["sh", fence, "sh", []])
        // With the settings and caches of the languages.
        const { NODE_OPTIONS: _, ...inherited } = process.env as Record<string, string>
        // The program of the page has the name of the example, so it is built into a folder of its own. What Cargo compiles
        // on the way is shared.
        const own = {
          ...inherited,
          CARGO_BUILD_BUILD_DIR: `${root}/build/languages/rust`,
          CARGO_TARGET_DIR: join(folder, "rust"),
        }
        const { code: preparation } = prepare as Block
        await runBlock(preparation, folder, own)
        const into = join(folder, String(/\bcd (\S+)/.exec(preparation)?.[1]))
        const { code } = program as Block
        const [, file = ""] = /^(?:\/\/|#) (\S+)\n/.exec(code) ?? []
        mkdirSync(dirname(join(into, file)), { recursive: true })
        writeFileSync(join(into, file), code)

        const cookie = `${sessionCookie}=abc`
        const commands = (start as Block).code.replace(`'${sessionCookie}=…'`, '"$COOKIE"')
        const env = { ...own, AUTHWIRE_URL: plain.grpcUrl, AUTHWIRE_API_KEY: key.text, COOKIE: cookie }
        // Maven resets the colours of the terminal, also where there is none.
        const first = await runBlock(commands, into, env)
        expect(first.replaceAll("\u001b[0m", "")).toBe(`${userId}\n`)
        const last = commands.trim().split("\n").at(-1) as string
        expect(await runBlock(last, into, { ...env, COOKIE: "theme=dark" })).toBe("nobody is signed in\n")
        const tls = { AUTHWIRE_URL: secure.grpcUrl, AUTHWIRE_TLS_CA: trusted.certFile }
        expect(await runBlock(last, into, { ...env, ...tls })).toBe(`${userId}\n`)
        const wrong = runBlock(last, into, { ...env, AUTHWIRE_API_KEY: staticKey(["all"]).text })
        await expect(wrong).rejects.toMatchObject({ stdout: "", stderr: expect.stringContaining("API_KEY_INVALID") })
      },
      15 * 60_000,
    )
  }
})
