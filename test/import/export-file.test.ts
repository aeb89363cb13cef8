import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { anyone, encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { bulk, emailKey, openSqlStore, sessionPolicyStore } from "../../server/src/store/sql/index.js"

const later = endsAfterEach()
const target = serviceDatabase()
const secrets = { AUTH_SECRET: testSecret, AUTHWIRE_ENCRYPTION_KEYS: encryptionKeys[0]?.toString("hex") ?? "" }

const date = (day: number) => new Date(Date.UTC(2030, 0, day, 1, 2, 3, 456))
const times = { created: date(1), updated: date(2) }
const email = " Ada@Example.com"

/** Writes a row with every property into each table, and a session policy. Returns the URL of the database. */
async function filledDatabase(): Promise<string> {
  const database = await createStoreDatabase(target)
  later(() => database.drop())
  const store = await openSqlStore({ encryptionKeys, url: database.url })
  later(() => store.close())
  const of = { ...anyone, userId: "u1" }
  const tables = bulk(store.database, { ...anyone, encryptionKeys })
  const write = <Row>(table: { write(rows: { missing: Row[]; changed: Row[] }): Promise<void> }, ...missing: Row[]) =>
    table.write({ missing, changed: [] })
  await write(
    tables.users,
    {
      ...{ ...anyone, id: "u1", email, emailKey: emailKey(email), emailVerified: date(3), name: "Ada 🦊" },
      ...{ extra: { image: null, role: ["admin"], secret: { n: 1 } }, privateExtra: '{"passwordHash":"x","pin":null}' },
      ...{ ...times, disabledSince: date(4), disabledUntil: date(5), disabledReason: "spam" },
    },
    { ...anyone, id: "u2", extra: {} },
  )
  await write(tables.accounts, {
    ...{ ...of, type: "oidc", provider: "google", providerAccountId: "g1", ...times },
    ...{ access_token: "a", token_type: "bearer", id_token: "i", scope: "s", expires_in: 1.5, expires_at: 1893456000 },
    ...{ authorization_details: [{ type: "x" }], extra: { refresh_token: null, session_state: "open" } },
  })
  const [metadata, id] = [{ userAgent: "Browser", authMethod: "passkey", provider: "google" }, "0f".repeat(16)]
  await write(tables.sessions, {
    ...{ ...of, tokenHash: Buffer.alloc(32, "session"), expires: date(9), extra: { device: "phone" } },
    ...{ id, created: date(6), lastSeen: date(7), ip: "::1", impersonator: "admin", ...metadata },
    providerSessionId: "sid of google",
  })
  const tokenHash = Buffer.alloc(32, "token")
  await write(tables.verificationTokens, { ...anyone, identifier: email, tokenHash, expires: date(8) })
  await write(tables.authenticators, {
    ...{ ...of, credentialID: "c", providerAccountId: "c", credentialPublicKey: "k", counter: 2 ** 32 - 1 },
    ...{ credentialDeviceType: "multiDevice", credentialBackedUp: true, extra: { transports: null } },
    ...{ displayName: "Phone", lastUsed: date(9), ...times },
  })
  const policy = { maxAge: 60_000, idleTimeout: 300_000, maxSessions: 3, atLimit: "reject_new" } as const
  await sessionPolicyStore(store.database).update(anyone, policy)
  return database.url
}

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "authwire-export-"))
  later(async () => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, "export.jsonl"), text)
  return join(folder, "export.jsonl")
}

async function exported(url: string, ...args: string[]): Promise<string> {
  const { code, stdout } = await run(["export", ...args], { ...secrets, AUTHWIRE_DATABASE_URL: url })
  expect(code).toBe(0)
  return stdout
}

async function emptyDatabase() {
  const database = await createDatabase(target)
  later(() => database.drop())
  await migrate(database)
  return database
}

const imported = (url: string, text: string, ...args: string[]) =>
  run(["import", "--from=jsonl", `--url=${fileOf(text)}`, ...args], { ...secrets, AUTHWIRE_DATABASE_URL: url })

test("an export with secrets is a source: what is imported from it has the same export", async () => {
  const source = await filledDatabase()
  const text = await exported(source, "--with-secrets")
  expect(text.trim().split("\n")).toHaveLength(8)
  const { url } = await emptyDatabase()
  const first = await imported(url, text, "--apply")
  expect(first).toMatchObject({ code: 0, stderr: "every row was compared: source and target are equal\n" })
  expect(await exported(url, "--with-secrets")).toBe(text)

  // Without its last line it may be a part.
  const part = await imported(url, text.replace(/.*\n$/, ""), "--apply", "--delete")
  expect(part).toMatchObject({ code: 1, stderr: expect.stringMatching(/export\.jsonl is not whole/) })
  expect((await imported(url, "", "--apply", "--delete")).stderr).toContain("export.jsonl is not whole")

  // The order of the lines does not matter, and a second run has nothing to write.
  const again = await imported(url, text.trim().split("\n").toReversed().join("\n"), "--apply", "--delete")
  expect(again.stdout).toMatch(/^users +0 +0 +0$/m)
  expect(again.code).toBe(0)
})

test("an export without secrets is refused: what it leaves out would be taken for what there is not", async () => {
  const text = await exported(await filledDatabase())
  const { url, query } = await emptyDatabase()
  const { code, stderr } = await imported(url, text, "--apply")
  expect(stderr).toMatch(/export\.jsonl: line 1 has no secrets: print them with authwire export --with-secrets/)
  expect(code).toBe(1)
  expect(await query("SELECT COUNT(*) AS n FROM users")).toEqual([{ n: 0 }])
})

const user = { table: "users", id: "u", extra: {}, privateExtra: {} }
const session = { table: "sessions", userId: "u", expires: date(1), extra: {} }

const others: [object, string][] = [
  [{ table: "users", id: "u", extra: {} }, "line 2 has no secrets"],
  [{ table: "accounts", userId: "u" }, "line 2 has no secrets"],
  [{ table: "", _id: { $oid: "1" } }, "line 2 is not one of authwire export; for the files of mongoexport, name"],
  [{ table: "sessionPolicies", maxAge: 1 }, "line 2 breaks a rule: max_age"],
  [{ table: "sessionPolicies", maxAge: "1h" }, "line 2 breaks a rule: maxAge"],
  [{ ...user, id: "v", colour: "red" }, 'properties: Unrecognized key: "colour"'],
  [{ ...user, id: "v", created: "soon" }, "created: Invalid ISO datetime"],
  [{ ...user, id: "v", name: 7, email: {} }, "email must be text"],
  [{ ...user, id: "v", email: "e".repeat(400) }, "email must be at most 320 characters"],
  [{ ...session, tokenSha256: "xyz" }, "tokenSha256 must be a SHA-256 in hexadecimal"],
  [session, "tokenSha256 must be a SHA-256 in hexadecimal"],
]

test("a line that authwire export does not print is refused", async () => {
  const { url, query } = await emptyDatabase()
  for (const [line, message] of others) {
    const counts = { users: 0, accounts: 0, sessions: 0, verificationTokens: 0, authenticators: 0 }
    for (const { table } of [user, line as typeof user]) if (table in counts) counts[table as keyof typeof counts]++
    const lines = [user, line, { table: "end", ...counts }].map((one) => `${JSON.stringify(one)}\n`)
    const { code, stdout, stderr } = await imported(url, lines.join(""), "--apply")
    expect({ line, code, text: stdout + stderr }).toEqual({ line, code: 1, text: expect.stringContaining(message) })
  }
  expect(await query("SELECT COUNT(*) AS n FROM users")).toEqual([{ n: 0 }])
})
