import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "@jest/globals"
import { type BulkName, bulkNames } from "../../store/sql/index.js"
import { exportSource } from "./export-source.js"

const folder = mkdtempSync(join(tmpdir(), "authwire-export-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes a file of one row, as `authwire export` does. */
function fileOf(table: BulkName, row: object): string {
  const counts = Object.fromEntries(bulkNames.map((name) => [name, name === table ? 1 : 0]))
  const lines = [
    { table, ...row },
    { table: "end", ...counts },
  ]
  const path = join(folder, "export.jsonl")
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  return path
}

const expires = "2100-01-01T00:00:00.000Z"
const user = { id: "u", email: null, emailVerified: null, privateExtra: {} }
const session = { tokenSha256: "a".repeat(64), userId: "u", expires }
const passkey = { credentialID: "c", userId: "u", providerAccountId: "a", credentialPublicKey: "k", counter: 1 }
const authenticator = { ...passkey, credentialDeviceType: "singleDevice", credentialBackedUp: false }
const rows = { users: user, sessions: session, authenticators: authenticator }

const texts: [table: keyof typeof rows, property: string, longest: number][] = [
  ["users", "disabledReason", 500],
  ["sessions", "id", 32],
  ["sessions", "ip", 64],
  ["sessions", "userAgent", 512],
  ["sessions", "authMethod", 64],
  ["sessions", "provider", 255],
  ["sessions", "providerSessionId", 255],
  ["sessions", "impersonator", 255],
  ["authenticators", "displayName", 100],
]

/** Reads the only row of a file. */
async function itemOf(table: keyof typeof rows, properties: object) {
  const source = await exportSource(fileOf(table, { ...rows[table], ...properties }), "default")
  for await (const page of source.pages(table)) for (const { row, faults } of page.items(false)) return { row, faults }
  throw new Error("there is no row")
}

test.each(texts)("S-31: %s.%s of an export has the limit of the schema, %i", async (table, property, longest) => {
  const faultsOf = async (value: string) => {
    const { row, faults } = await itemOf(table, { [property]: value })
    return [row === undefined, ...faults.map(({ detail }) => detail)]
  }
  expect(await faultsOf("x".repeat(longest))).toEqual([false])
  const ofProperty = expect.stringMatching(new RegExp(`^${property}: `))
  for (const value of ["x".repeat(longest + 1), "\0", String.fromCharCode(0xd800)])
    expect(await faultsOf(value)).toEqual([true, ofProperty])
})

test.each(["created", "disabledSince", "disabledUntil"])(
  "%s of an export is a time of the years 1000 to 9999",
  async (property) => {
    expect((await itemOf("users", { [property]: "0999-12-31T23:59:59Z" })).row).toBeUndefined()
    expect((await itemOf("users", { [property]: "1000-01-02T00:00:00Z" })).row).toBeDefined()
  },
)

test("S-33: properties that are nested too deeply are a finding of their row, private ones too", async () => {
  expect.assertions(4)
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
  for (const property of ["extra", "privateExtra"]) {
    const path = fileOf("users", { ...user, [property]: { a: "DEEP" } })
    writeFileSync(path, readFileSync(path, "utf8").replace('"DEEP"', deep))
    const source = await exportSource(path, "default")
    for await (const page of source.pages("users"))
      for (const { row, faults } of page.items(false)) {
        expect(row).toBeUndefined()
        expect(faults.map(({ detail }) => detail)).toEqual([expect.stringMatching(/deeper than 32 levels$/)])
      }
  }
})
