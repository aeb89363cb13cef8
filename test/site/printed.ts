import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { AuthwireClient } from "@authwire/client"
import { blocksOf, runBlock } from "@authwire/test-support/applications/pages.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"

/** The blocks of commands of the pages that are run as they stand: the page, the number of the block in it, and what it prints. */
export const printed: readonly [page: string, block: number, output: RegExp][] = [
  ["docs/errors.md", 0, /"code":"not_found","message":"no such user"/],
  ["docs/extending-sessions.md", 1, /"id":"u"/],
  ["docs/gateways.md", 0, /^awk_/],
  ["docs/introspection.md", 1, /^awk_/],
  ["docs/moving.md", 0, /0001-initial/],
  ["docs/moving.md", 1, /users/],
  ["docs/moving.md", 4, /users/],
  ["docs/operating.md", 0, /ready[\s\S]*"SERVING"/],
  ["docs/operating.md", 2, /sessions/],
  ["docs/other-languages.md", 0, /^awk_/],
  ["docs/security.md", 0, /^awk_[\s\S]*\nawk_[\s\S]* backend /],
  ["docs/security.md", 4, /awk_/],
  ["docs/start/backend.md", 1, /^\{\}/],
  ["docs/start/backend.md", 2, /^awk_/],
  ["docs/start/backend.md", 3, /IntrospectionService\.Introspect[\s\S]*rpc Introspect/],
  ["site/index.md", 1, /^\{\}/],
  // No user is deleted afterwards, so nothing is sent.
  ["docs/webhooks.md", 1, /^created [0-9a-f]{32}\nwhsec_/],
]

/** What the commands of this reader reach. */
export interface Reader {
  /** The folder that has the checkout `authwire`. */
  readonly folder: string
  /** The hosts of the two listeners. */
  readonly grpc: string
  readonly http: string
  readonly adapter: AuthwireClient["adapter"]
  readonly databaseUrl: string
  /** A database without tables, for a reader who moves over. */
  readonly emptyUrl: string
}

/** Runs a block of a page with the values of this reader in the places that a reader fills in. Returns what it prints. */
export async function runPrinted(page: string, block: number, reader: Reader): Promise<string> {
  const { code = "" } = blocksOf(page)[block] ?? {}
  const checkout = join(reader.folder, "authwire")
  const url = page === "docs/moving.md" ? reader.emptyUrl : reader.databaseUrl
  const database = code.includes("--dev") ? {} : { AUTHWIRE_DATABASE_URL: url }
  const from = code.startsWith("cd authwire") ? reader.folder : checkout
  return runBlock(await completed(code, reader), from, { ...database, AUTH_SECRET: testSecret })
}

async function completed(
  code: string,
  { folder, grpc, http, adapter, databaseUrl, emptyUrl }: Reader,
): Promise<string> {
  const values: [string, () => string | Promise<string>][] = [
    ["127.0.0.1:50051", () => grpc],
    ["127.0.0.1:8080", () => http],
    ["k3x5q2m7a4b6c7d2", () => newKeyId(databaseUrl)],
    ['"session_token": "…"', async () => `"session_token": "${await newSession(adapter)}"`],
    ["mysql://authwire:PASSWORD@127.0.0.1:3306/authwire", () => emptyUrl],
    ["mysql://app:PASSWORD@127.0.0.1:3306/app", prismaDatabase],
    ["AUTH_SECRET=...", () => `AUTH_SECRET=${testSecret}`],
    ["AUTH_SECRET_1=...", () => `AUTH_SECRET_1=${testSecret}`],
  ]
  let text = code
  for (const [place, value] of values) if (text.includes(place)) text = text.replaceAll(place, await value())
  if (text.includes(".authwire/authwire.db")) {
    const checkout = join(folder, "authwire")
    // As `authwire serve --dev` does.
    await run(["migrate", "up", "--dev"], {}, checkout)
    writeFileSync(join(checkout, ".authwire/secret"), testSecret)
  }
  return text
}

async function newKeyId(databaseUrl: string) {
  const { stdout } = await run(["keys", "create", "--name=old", "--scopes=all"], { AUTHWIRE_DATABASE_URL: databaseUrl })
  return String(/^awk_([^_]+)_/.exec(stdout)?.[1])
}

async function newSession(adapter: AuthwireClient["adapter"]) {
  await adapter.createUser({ id: "u", email: "u@example.com", emailVerified: null })
  await adapter.createSession({ sessionToken: "s", userId: "u", expires: new Date(Date.now() + 86_400_000) })
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
