import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { date, filledDatabase as filled } from "./filled-database.js"

const later = endsAfterEach()
const target = serviceDatabase()
const secrets = { AUTH_SECRET: testSecret, AUTHWIRE_ENCRYPTION_KEYS: encryptionKeys[0]?.toString("hex") ?? "" }

const filledDatabase = async () => (await filled(target, later)).url

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
