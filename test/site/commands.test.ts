import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { blocksOf, folderWithCheckout, runBlock } from "@authwire/test-support/applications/pages.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { placedAt } from "./placements.js"

/** Blocks of commands of the pages: the page, the number of the block in it, and what it prints. */
const printed: readonly [page: string, block: number, output: RegExp][] = [
  ["docs/errors.md", 0, /"code":"not_found","message":"no such user"/],
  ["docs/extending-sessions.md", 1, /"id": "u"/],
  ["docs/gateways.md", 0, /^awk_/],
  ["docs/introspection.md", 1, /^awk_/],
  ["docs/moving.md", 0, /0001-initial/],
  ["docs/moving.md", 1, /users/],
  ["docs/moving.md", 4, /users/],
  ["docs/operating.md", 0, /"SERVING"[\s\S]*ready/],
  ["docs/operating.md", 2, /sessions/],
  ["docs/other-languages.md", 0, /^awk_/],
  ["docs/security.md", 0, /^awk_[\s\S]*\nawk_[\s\S]* backend /],
  ["docs/security.md", 4, /awk_/],
  ["docs/start/backend.md", 1, /IntrospectionService\.Introspect[\s\S]*rpc Introspect/],
  ["docs/start/backend.md", 2, /^\{\}/],
  ["docs/start/backend.md", 3, /^awk_/],
  ["site/index.md", 1, /^\{\}/],
]

describe("the commands of the pages", () => {
  const folder = folderWithCheckout()
  const checkout = join(folder, "authwire")
  const authwire = useAuthwire("sqlite")
  /** Without tables, for a reader who moves over. */
  let empty: TestDatabase

  beforeAll(async () => {
    empty = await createDatabase("sqlite")
  })
  afterAll(async () => {
    await empty.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test("are all that are placed here", () => {
    const here = printed.map(([page, number]) => `${page} ${number}`)
    expect(here.sort()).toEqual(
      placedAt("test/site/commands.test.ts")
        .map((one) => one.join(" "))
        .sort(),
    )
  })

  for (const [page, number, output] of printed) {
    const { code = "" } = blocksOf(page)[number] ?? {}
    const runnable = ["curl", "grpcurl"].every((program) => !code.includes(`${program} `) || hasTool(program))
    ;(runnable ? test : test.skip)(`${page}, block ${number}`, async () => {
      const { url } = page === "docs/moving.md" ? empty : authwire.database
      const database = code.includes("--dev") ? {} : { AUTHWIRE_DATABASE_URL: url }
      const from = code.startsWith("cd authwire") ? folder : checkout
      const text = await runBlock(await completed(code), from, { ...database, AUTH_SECRET: testSecret })
      expect(text).toMatch(output)
    })
  }

  /** Puts values of this run in the places that a reader fills in. */
  async function completed(code: string): Promise<string> {
    const values: [string, () => string | Promise<string>][] = [
      ["127.0.0.1:50051", () => new URL(authwire.server.grpcUrl).host],
      ["127.0.0.1:8080", () => new URL(authwire.server.httpUrl).host],
      ["k3x5q2m7a4b6c7d2", newKeyId],
      ['"session_token": "…"', async () => `"session_token": "${await newSession()}"`],
      ["mysql://authwire:PASSWORD@127.0.0.1:3306/authwire", () => empty.url],
      ["mysql://app:PASSWORD@127.0.0.1:3306/app", prismaDatabase],
      ["AUTH_SECRET=...", () => `AUTH_SECRET=${testSecret}`],
      ["AUTH_SECRET_1=...", () => `AUTH_SECRET_1=${testSecret}`],
    ]
    let text = code
    for (const [place, value] of values) if (text.includes(place)) text = text.replaceAll(place, await value())
    if (text.includes(".authwire/authwire.db")) {
      // As `authwire serve --dev` does.
      await run(["migrate", "up", "--dev"], {}, checkout)
      writeFileSync(join(checkout, ".authwire/secret"), testSecret)
    }
    return text
  }

  async function newKeyId() {
    const env = { AUTHWIRE_DATABASE_URL: authwire.database.url }
    const { stdout } = await run(["keys", "create", "--name=old", "--scopes=all"], env)
    return String(/^awk_([^_]+)_/.exec(stdout)?.[1])
  }

  async function newSession() {
    await authwire.adapter.createUser({ id: "u", email: "u@example.com", emailVerified: null })
    const expires = new Date(Date.now() + 86_400_000)
    await authwire.adapter.createSession({ sessionToken: "s", userId: "u", expires })
    return "s"
  }

  async function prismaDatabase() {
    const { url, query } = await createDatabase("sqlite")
    for (const table of [
      "User (id TEXT PRIMARY KEY, name TEXT, email TEXT, emailVerified DATETIME, image TEXT)",
      "Account (userId TEXT, type TEXT, provider TEXT, providerAccountId TEXT, PRIMARY KEY (provider, providerAccountId))",
      "Session (sessionToken TEXT PRIMARY KEY, userId TEXT, expires DATETIME)",
    ]) {
      await query(`CREATE TABLE ${table}`)
    }
    return url
  }
})
