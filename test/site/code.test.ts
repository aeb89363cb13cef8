import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { authority, stranger } from "@authwire/test-support/processes/certificates.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { placedAt } from "./placements.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

const app = 'import express from "express"\nconst app = express()\n'
const expressAuth = 'import { ExpressAuth } from "@auth/express"\n'
const adapter = 'import { AuthwireAdapter } from "@authwire/client"\n'
const client = 'import { createAuthwireClient } from "@authwire/client"\n'
const reach = 'const [url, apiKey] = [process.env.AUTHWIRE_URL ?? "", undefined]\n'
const person = `const [userId, sessionToken, userIds] = ["u", "s", ["u"]]\n`
/** The id of the newest session of a user. */
const newest = (userId: string) => `
const own = createAuthwireClient({ url: process.env.AUTHWIRE_URL ?? "" })
const [{ id = "" } = {}] = (await own.sessions.listSessions({ userId: "${userId}" })).sessions
`
const passkey = `
const [userId, credentialId, more] = ["u", "a2V5", { credentialDeviceType: "multiDevice", credentialBackedUp: true, counter: 0 }]
await createAuthwireClient({ url, apiKey }).adapter.createAuthenticator({
  userId, credentialID: credentialId, providerAccountId: credentialId, credentialPublicKey: "a2V5", ...more,
})
`
const pem = `const [ca, cert, key] = ${JSON.stringify([authority.cert, stranger.cert, stranger.key])}\n`

/** Blocks that run as a program: the page, the number of the block in it, and what the reader's application has before it. */
const programs: readonly [page: string, block: number, before: string][] = [
  ["README.md", 3, app],
  ["README.md", 4, ""],
  ["README.md", 5, app + expressAuth],
  ["docs/client.md", 0, client + reach + passkey],
  [
    "docs/client.md",
    1,
    `${client}${reach}const { users } = createAuthwireClient({ url, apiKey })\nconst [id, name] = ["u", "Ada"]\n`,
  ],
  ["docs/client.md", 2, client],
  [
    "docs/disabling-users.md",
    0,
    `const { user: { id = "" } = {} } = await (await import("@authwire/client")).createAuthwireClient({ url: process.env.AUTHWIRE_URL ?? "" }).users.createUser({})\n`,
  ],
  [
    "docs/events.md",
    0,
    "const apiKey = undefined\nlet startCursor: string | undefined\nconst { signal } = new AbortController()\nconst [forget, keep] = [async () => {}, async () => process.exit()]\n",
  ],
  [
    "docs/introspection.md",
    0,
    `${client}const request = new Request("https://a.example", { headers: { cookie: "authjs.session-token=s" } })\n`,
  ],
  ["docs/provider-tokens.md", 1, `${reach}const providers = []\n`],
  ["docs/security.md", 8, `${adapter}import { readFileSync } from "node:fs"\n`],
  ["docs/security.md", 10, adapter + pem],
  ["docs/session-cache.md", 0, adapter + reach],
  ["docs/session-cache.md", 1, `${client}${newest("cached")}const authwire = own\n`],
  ["docs/sessions.md", 0, client + person + newest("u")],
  ["docs/sessions.md", 1, adapter + reach],
  [
    "docs/sessions.md",
    3,
    `${client}const authwire = createAuthwireClient({ url: process.env.AUTHWIRE_URL ?? "", sessionCache: {} })\n`,
  ],
  ["docs/sessions.md", 5, app + expressAuth + adapter + reach],
  [
    "docs/signals.md",
    2,
    `${client}const sessionToken = "s"\nconst authwire = createAuthwireClient({ url: process.env.AUTHWIRE_URL ?? "" })\n`,
  ],
]

describe("the code of the pages", () => {
  mkdirSync(`${root}/build`, { recursive: true })
  // In this repository, so that the packages are found.
  const folder = mkdtempSync(`${root}/build/pages-`)
  const authwire = useAuthwire("sqlite")

  beforeAll(async () => {
    writeFileSync(join(folder, "ca.crt"), authority.cert)
    const expires = new Date(Date.now() + 3_600_000)
    for (const [id, tokens] of Object.entries({ u: ["s", "other"], cached: ["cached"] })) {
      const email = id === "u" ? "ada@example.com" : `${id}@example.com`
      await authwire.adapter.createUser({ id, email, emailVerified: null })
      for (const sessionToken of tokens) await authwire.adapter.createSession({ sessionToken, userId: id, expires })
    }
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true })
  })

  test("are all that are placed here", () => {
    expect(programs.map(([page, number]) => [page, number])).toEqual(placedAt("test/site/code.test.ts"))
  })

  test.each(programs)("%s, block %i runs as written", async (page, number, before) => {
    const block = blocksOf(page)[number]
    expect(block?.language).toBe("ts")
    const code = (block?.code ?? "").replaceAll("127.0.0.1:50051", new URL(authwire.server.grpcUrl).host)
    const file = join(folder, `${page.replaceAll("/", "-")}-${number}.ts`)
    writeFileSync(file, `${before}${code}\nprocess.exit()\n`)
    const env = { ...process.env, NODE_OPTIONS: "", AUTH_SECRET: "x", AUTHWIRE_URL: authwire.server.grpcUrl }
    await promisify(execFile)(process.execPath, [file], { cwd: folder, env })
  })
})
