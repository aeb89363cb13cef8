import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import type { BulkRows } from "../../store/sql/index.js"
import type { Item } from "../item.js"
import { type Mapping, noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerOrigin } from "./origin.js"

const later = endsAfterEach()
const tables = `
  CREATE TABLE account (userId text, type text, provider text, providerAccountId text, PRIMARY KEY (provider, providerAccountId));
  CREATE TABLE session (sessionToken text PRIMARY KEY, userId text, expires integer)`

/** Reads the users of a table that these columns and rows define. */
async function usersOf(columns: string, rows: unknown[][], mapping: Partial<Mapping> = {}) {
  const database = await createDatabase("sqlite")
  later(() => database.drop())
  for (const sql of [`CREATE TABLE user (${columns})`, ...tables.split(";")]) await database.query(sql)
  for (const row of rows) await database.query(`INSERT INTO user VALUES (${row.map(() => "?").join(", ")})`, row)
  const source = await openSource(database.url)
  later(() => source.close())
  const origin = await peerOrigin(source, { peer: "drizzle", mapping: { ...noMapping, ...mapping }, tenant: "default" })
  const items: Item<BulkRows["users"]>[] = []
  for await (const page of origin.pages("users")) items.push(...page.items(false))
  return items
}
const verifiedOf = (items: Item<BulkRows["users"]>[]) =>
  items.map(({ row, faults }) => (row === undefined ? faults.map(({ detail }) => detail).join() : row.emailVerified))

const flags = [
  ["u0", 0],
  ["u1", "0"],
  ["u2", "false"],
  ["u3", "f"],
  ["u4", "no"],
  ["u5", null],
]

test.each(["integer", "text", "boolean", "numeric", "blob"])(
  "a flag of type %s: who is not verified stays so",
  async (type) => {
    const items = await usersOf(`id text PRIMARY KEY, emailVerified ${type}`, flags)
    expect(verifiedOf(items)).toEqual(flags.map(() => undefined))
  },
)

test("a flag that is true is rejected until the mapping names the date that it stands for", async () => {
  const columns = "id text PRIMARY KEY, emailVerified integer, created_at text"
  const rows = [
    ["u1", 1, "2020-02-03 04:05:06"],
    ["u2", "true", "nonsense"],
    ["u3", 0, "2020-02-03 04:05:06"],
  ]
  const rule = expect.stringContaining("emailVerified is a flag and not a date")
  expect(verifiedOf(await usersOf(columns, rows))).toEqual([rule, rule, undefined])
  const mapped = (whenTrue: string) => ({
    columns: { users: { emailVerified: { column: "emailVerified", whenTrue } } },
  })
  expect(verifiedOf(await usersOf(columns, rows, mapped("created_at")))).toEqual([
    new Date("2020-02-03T04:05:06Z"),
    expect.stringContaining("has no date"),
    undefined,
  ])
  const date = new Date("2026-01-01T00:00:00Z")
  expect(verifiedOf(await usersOf(columns, rows, mapped("2026-01-01")))).toEqual([date, date, undefined])
  const [now] = verifiedOf(await usersOf(columns, rows, mapped("now")))
  expect(Math.abs(Number(now) - Date.now())).toBeLessThan(600_000)
  await expect(usersOf(columns, rows, mapped("other"))).rejects.toThrow("no column other")
})

test.each([
  ["emailverified", '{"columns":{"users":{"emailVerified":"emailverified"}}}'],
  ["email_verified_at", '{"columns":{"users":{"emailVerified":"email_verified_at"}}}'],
  ["E_Mail", '{"columns":{"users":{"email":"E_Mail"}}}'],
  // The exact name is there, and the other one may be the flag that the application reads.
  ["emailVerified integer, email_verified", '{"ignore":{"users":["email_verified"]}}'],
])("a column that is almost one of the contract is asked about, with a mapping: %s", async (column, mapping) => {
  const columns = `id text PRIMARY KEY, ${column} integer`
  await expect(usersOf(columns, [])).rejects.toThrow(mapping)
  expect(await usersOf(columns, [], JSON.parse(mapping))).toEqual([])
})

test("a table that is almost one of the layout is asked about, with a mapping", async () => {
  const database = await createDatabase("sqlite")
  later(() => database.drop())
  for (const sql of ["CREATE TABLE users (id text PRIMARY KEY)", ...tables.split(";")]) await database.query(sql)
  const source = await openSource(database.url)
  later(() => source.close())
  const opened = peerOrigin(source, { peer: "drizzle", mapping: noMapping, tenant: "default" })
  await expect(opened).rejects.toThrow(
    'but users: say in the file of --mapping whether it is meant, for example {"tables":{"users":"users"}}',
  )
})

test("ids that are the bytes of a UUID, times in milliseconds, and a property without a column", async () => {
  const id = "00112233445566778899aabbccddeeff"
  const mapping = { columns: { users: { id: { column: "id", as: "uuid" as const }, name: { constant: "Ada" } } } }
  const [item] = await usersOf("id blob PRIMARY KEY", [[Buffer.from(id, "hex")]], mapping)
  expect(item?.row).toMatchObject({ id: "00112233-4455-6677-8899-aabbccddeeff", name: "Ada" })
})

test("a value that Authwire rejects costs only itself if the mapping says so, and is named", async () => {
  const columns = "id text PRIMARY KEY, emailVerified integer, name text"
  const rows = [
    ["u1", 1, "n".repeat(70_000)],
    ["u2", null, "Ada"],
  ]
  const omitted = (...names: string[]) => ({
    columns: { users: Object.fromEntries(names.map((column) => [column, { column, whenInvalid: "omit" as const }])) },
  })
  const read = async (mapping: Partial<Mapping>) =>
    (await usersOf(columns, rows, mapping)).map(({ row, faults }) => [
      row && [row.name, row.emailVerified, row.extra],
      faults.map(({ kind, detail }) => `${kind} ${/^\w+/.exec(detail)?.[0]}`),
    ])
  const sound = [["Ada", undefined, {}], []]
  expect(await read({})).toEqual([[undefined, ["invalid emailVerified"]], sound])
  expect(await read(omitted("emailVerified"))).toEqual([[undefined, ["omitted emailVerified", "invalid name"]], sound])
  expect(await read(omitted("emailVerified", "name"))).toEqual([
    [
      [undefined, undefined, {}],
      ["omitted emailVerified", "omitted name"],
    ],
    sound,
  ])
})

test.each([
  ["id blob PRIMARY KEY", [Buffer.from([0xff])], "row of user with rowid = 1"],
  ["id blob PRIMARY KEY) WITHOUT ROWID --", [Buffer.from([0xff])], "row of user with id = X'ff'"],
  ["id real PRIMARY KEY) WITHOUT ROWID --", [1.5], "row of user with id = 1.5"],
  [
    "id text, email text PRIMARY KEY) WITHOUT ROWID --",
    [null, "a@b"],
    "row of user with SHA-256 of email = 7508d8b5018e…",
  ],
])("a row whose id cannot be read has a label that finds it, without an address: %s", async (columns, row, label) => {
  const [item] = await usersOf(columns, [row])
  expect(item?.row).toBeUndefined()
  expect(item?.label).toBe(label)
})
