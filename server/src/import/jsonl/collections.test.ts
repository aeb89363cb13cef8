import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import { type BulkName, bulkNames } from "../../store/sql/index.js"
import { check } from "../check.js"
import { type Mapping, noMapping } from "../peer/mapping.js"
import { peerSource } from "../peer/peer-source.js"
import { collectionsSource } from "./collections.js"

const later = endsAfterEach()

const oid = (n: number) => ({ $oid: String(n).padStart(24, "0") })
const [ada, bob] = [oid(1), oid(2)]
const expires = { $date: { $numberLong: "1893456000000" } }
const github = { type: "oauth", provider: "github" }

type Files = Record<string, readonly object[] | string>

const collections: Files = {
  "users.json": [
    { _id: ada, email: "ada@example.com", emailVerified: { $date: "2026-01-02T03:04:05Z" }, name: null, logins: 3 },
    { _id: bob, email: "bob@example.com", passwordHash: "$2b$12$x", createdAt: { $date: "2026-01-02T03:04:05Z" } },
  ],
  "accounts.json": [
    { _id: oid(3), userId: ada, ...github, providerAccountId: "a", expires_at: { $numberInt: "1893456000" } },
    { _id: oid(4), userId: bob, ...github, providerAccountId: "b", scope: null },
  ],
  "sessions.jsonl": [{ _id: oid(5), sessionToken: "s", userId: ada, expires }],
  // mongoexport writes an empty file for an empty collection.
  "verification_tokens.json": "",
  "metadata.txt": "not a collection",
}

function folderOf(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), "authwire-collections-"))
  later(async () => rmSync(folder, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : content.map((line) => `${JSON.stringify(line)}\n`).join("")
    writeFileSync(join(folder, name), text)
  }
  return folder
}

const sourceOf = (files: Files, mapping: Partial<Mapping> = {}) =>
  peerSource(collectionsSource(folderOf(files)), {
    peer: "jsonl",
    mapping: { ...noMapping, ...mapping },
    tenant: "default",
  })

/** Reads all rows, in pages. */
async function pagesOf(source: Awaited<ReturnType<typeof sourceOf>>, name: BulkName) {
  const pages = []
  for await (const page of source.pages(name)) pages.push(page.items(false))
  return pages
}

test("the collections of MongoDB's adapter: what a document does not have is absent, and null is null", async () => {
  const source = await sourceOf(collections)
  const rows = async (name: BulkName) =>
    (await pagesOf(source, name)).flat().map(({ row, faults }) => (faults.length > 0 ? faults : row))
  expect(await rows("users")).toMatchObject([
    { id: ada.$oid, emailVerified: new Date("2026-01-02T03:04:05Z"), extra: { name: null, logins: 3 } },
    { id: bob.$oid, emailVerified: undefined, created: new Date("2026-01-02T03:04:05Z") },
  ])
  const [first, second] = (await rows("users")) as { extra: object; privateExtra?: string }[]
  expect([first?.extra, first?.privateExtra]).toEqual([{ name: null, logins: 3 }, undefined])
  expect([second?.extra, second?.privateExtra]).toEqual([
    { createdAt: "2026-01-02T03:04:05.000Z" },
    '{"passwordHash":"$2b$12$x"}',
  ])
  const accounts = (await rows("accounts")) as { userId: string; expires_at?: number; extra: object }[]
  expect(accounts.map(({ userId, expires_at, extra }) => [userId, expires_at, extra])).toEqual([
    [ada.$oid, 1_893_456_000, { id: oid(3).$oid }],
    [bob.$oid, undefined, { id: oid(4).$oid, scope: null }],
  ])
  expect(await rows("sessions")).toMatchObject([{ userId: ada.$oid, expires: new Date(1_893_456_000_000) }])
  expect(source.notes).toContain("verification_tokens is empty")
  expect(await Promise.all(bulkNames.map((name) => source.count(name)))).toEqual([2, 2, 1, 0, 0])

  // Values of their own kind are no conversions.
  const checked = await check(source)
  later(async () => checked.close())
  expect(checked.findings.summaries()).toEqual([])
  expect(checked.findings.conversions().map(({ property, what }) => `${property}: ${what}`)).toEqual([
    "createdAt: date → text",
  ])
})

test("a file is read in pages of rows, or of bytes if its lines are long", async () => {
  const users = (count: number, name: string) =>
    Array.from({ length: count }, (_, n) => ({ _id: oid(n), email: `u${n}@example.com`, name }))
  const lengths = async (count: number, name: string) => {
    const source = await sourceOf({ ...collections, "users.json": users(count, name) })
    const pages = await pagesOf(source, "users")
    const ids = pages.flat().map(({ row }) => row && "id" in row && row.id)
    // Beyond 2000 characters a name is a finding, of a row that stays in its place.
    if (name.length < 2000) expect(ids).toEqual(users(count, name).map(({ _id }) => _id.$oid))
    return pages.map((items) => items.length)
  }
  expect(await lengths(2000, "short")).toEqual([1000, 1000])
  expect(await lengths(2001, "short")).toEqual([1000, 1000, 1])
  expect(await lengths(5, "n".repeat(3_000_000))).toEqual([3, 2])
})

test("a row that cannot be imported is named by its line, and a value of another type is a finding", async () => {
  const line = { _id: { $numberDouble: "0.5" }, email: "x@example.com" }
  const source = await sourceOf({ ...collections, "users.json": `\n${JSON.stringify(line)}\n` })
  const [[item] = []] = await pagesOf(source, "users")
  expect(item).toMatchObject({ row: undefined, faults: [{ detail: "id must be text" }] })
  expect(item?.label).toContain("row of users with line = 2")
})

test("a structure that is nested too deeply is a finding of its row", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
  const line = `{"_id":{"$oid":"${ada.$oid}"},"email":"x@example.com","deep":${deep}}\n`
  const [[item] = []] = await pagesOf(await sourceOf({ ...collections, "users.json": line }), "users")
  expect(item).toMatchObject({ row: undefined, label: `user ${ada.$oid}` })
  expect(item?.faults.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^extra\.deep.*32 levels/)])
})

test("S-32: text with half of a surrogate pair is a finding of its row, because it would be stored as another text", async () => {
  const half = String.fromCharCode(0xd800)
  const people = [{ _id: `a${half}` }, { _id: ada, email: `a${half}@example.com` }, { _id: bob, name: half }]
  const tokens = [half, `${half}x`].map((sessionToken, n) => ({ _id: oid(n), sessionToken, userId: ada, expires }))
  const source = await sourceOf({ ...collections, "users.json": people, "sessions.jsonl": tokens })
  const faultsOf = async (name: BulkName) =>
    (await pagesOf(source, name)).flat().map(({ row, faults }) => [row, ...faults.map(({ detail }) => detail)])
  const rule = "must be well-formed Unicode"
  expect(await faultsOf("users")).toEqual(["id", "email", "name"].map((field) => [undefined, `${field} ${rule}`]))
  expect(await faultsOf("sessions")).toEqual(tokens.map(() => [undefined, `sessionToken ${rule}`]))
})

test("a mapping applies to collections as to tables", async () => {
  const { "users.json": people, ...others } = collections
  const files = { ...others, "people.json": people ?? "" }
  await expect(sourceOf(files)).rejects.toThrow("no table users for users")
  const source = await sourceOf(files, {
    tables: { users: "people" },
    ignore: { users: ["passwordHash", "createdAt"] },
  })
  expect((await pagesOf(source, "users")).flat()[1]?.row).toMatchObject({ extra: {}, privateExtra: undefined })
})

test("documents with an id of their own: which one is meant is asked", async () => {
  const files = { ...collections, "users.json": [{ _id: ada, id: "ada", email: "ada@example.com" }] }
  await expect(sourceOf(files)).rejects.toThrow('{"ignore":{"users":["_id"]}}')
  const [[item] = []] = await pagesOf(await sourceOf(files, { ignore: { users: ["_id"] } }), "users")
  expect(item?.row).toMatchObject({ id: "ada", extra: {} })
})

test("a folder that cannot be read, has two files for a collection, or too many properties, is an error", async () => {
  expect(() => collectionsSource("/no/such/folder")).toThrow("--url: cannot read the folder /no/such/folder (ENOENT)")
  const twice = { ...collections, "users.jsonl": "" }
  expect(() => collectionsSource(folderOf(twice))).toThrow("has several files for users")
  const many = Array.from({ length: 1001 }, (_, n) => ({ _id: oid(n), [`property${n}`]: 1 }))
  await expect(sourceOf({ ...collections, "users.json": many })).rejects.toThrow("has more than 1000 properties")
})
