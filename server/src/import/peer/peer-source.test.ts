import { hash } from "node:crypto"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { describe, expect, test } from "@jest/globals"
import type { BulkRows } from "../../store/sql/index.js"
import type { Item } from "../item.js"
import { type Mapping, noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"

const later = endsAfterEach()
const tables = `
  CREATE TABLE account (userId text, type text, provider text, providerAccountId text, PRIMARY KEY (provider, providerAccountId));
  CREATE TABLE session (sessionToken text PRIMARY KEY, userId text, expires integer)`

/** Opens a database with a table of users that these columns and rows define. */
async function originOf(columns: string, rows: unknown[][], mapping: Partial<Mapping> = {}, others = tables) {
  const database = await createDatabase("sqlite")
  later(() => database.drop())
  for (const sql of [`CREATE TABLE user (${columns})`, ...others.split(";")]) await database.query(sql)
  for (const row of rows) await database.query(`INSERT INTO user VALUES (${row.map(() => "?").join(", ")})`, row)
  const source = await openSource(database.url)
  later(() => source.close())
  return peerSource(source, { peer: "drizzle", mapping: { ...noMapping, ...mapping }, tenant: "default" })
}

/** Reads the users of such a table. */
async function usersOf(...given: Parameters<typeof originOf>) {
  const items: Item<BulkRows["users"]>[] = []
  for await (const page of (await originOf(...given)).pages("users")) items.push(...page.items(false))
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
  const opened = peerSource(source, { peer: "drizzle", mapping: noMapping, tenant: "default" })
  await expect(opened).rejects.toThrow(
    'but users; say in the file of --mapping what is meant, for example {"tables":{"users":"users"}}',
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

test.each([
  ["text", "s3cret"],
  ["integer", 123456],
])("the label of a row has no token, although its column is called id: %s", async (type, token) => {
  const others = `${tables.split(";")[0]};
    CREATE TABLE session (id ${type} PRIMARY KEY, user_id blob, expires text) WITHOUT ROWID;
    INSERT INTO session VALUES ('${token}', X'ff', '2030-01-01')`
  const origin = await originOf("id text", [], { columns: { sessions: { sessionToken: "id" } } }, others)
  const labels: string[] = []
  for await (const page of origin.pages("sessions")) labels.push(...page.items(false).map(({ label }) => label))
  expect(labels).toEqual([`row of session with SHA-256 of id = ${hash("sha256", String(token)).slice(0, 12)}…`])
})

describe("columns that the contract does not define", () => {
  const columns = "id text PRIMARY KEY, nickname text, passwordHash text, totp_secret text, tokens_left integer"
  const row = ["u", "Ada", "$2b$12$x", null, 7]
  const splitOf = async (mapping: Partial<Mapping> = {}) => {
    const [item] = await usersOf(columns, [row], mapping)
    expect(item?.faults).toEqual([])
    return [item?.row?.extra, JSON.parse(item?.row?.privateExtra ?? "null")]
  }

  test("are private if they look like secrets, unless the mapping has a word for them", async () => {
    const [nickname, passwordHash, totp_secret, tokens_left] = ["Ada", "$2b$12$x", null, 7]
    expect(await splitOf()).toEqual([{ nickname }, { passwordHash, totp_secret, tokens_left }])
    const mapping = {
      keep: { users: ["tokens_left"] },
      private: { users: ["nickname"] },
      ignore: { users: ["totp_secret"] },
    }
    expect(await splitOf(mapping)).toEqual([{ tokens_left }, { nickname, passwordHash }])
    const none = { keep: { users: ["tokens_left"] }, ignore: { users: ["totp_secret", "passwordHash"] } }
    expect(await splitOf(none)).toEqual([{ nickname, tokens_left }, null])
  })

  test("are named with what happens to them; secrets of accounts are kept, and those of sessions are not", async () => {
    const others = tables.replace("provider text", "oauth_token_secret text, provider text")
    const { notes } = await originOf(
      columns,
      [],
      { ignore: { users: ["nickname"] } },
      others.replace("expires", "accessToken text, device text, expires"),
    )
    const what = "columns that the contract does not define"
    expect(notes.filter((note) => note.includes(what))).toEqual([
      `user: ${what} are stored as private properties: passwordHash, totp_secret, tokens_left`,
      `user: ${what} are not imported: nickname`,
      `account: ${what} are stored in extra: oauth_token_secret`,
      `session: ${what} are stored in extra: device`,
      `session: ${what} are not imported: accessToken`,
    ])
  })

  test.each([
    [{ private: { users: ["pasword"] } }, "the table user has no column pasword"],
    [{ keep: { users: ["x"] }, ignore: { users: ["x"] } }, "ignore.users: x is in keep too"],
  ])("a mapping that names another column, or has two words for one, is rejected: %j", async (mapping, message) => {
    await expect(usersOf(columns, [], mapping)).rejects.toThrow(message)
  })

  test("a word for a name that is almost one of the contract is an answer too", async () => {
    const [item] = await usersOf("id text PRIMARY KEY, Emails text", [["u", "x"]], { private: { users: ["Emails"] } })
    expect(item?.row).toMatchObject({ email: undefined, extra: {}, privateExtra: '{"Emails":"x"}' })
  })

  test("a private property that JSON cannot hold, or that is too large, is a finding without its value", async () => {
    const [item] = await usersOf("id text PRIMARY KEY, secret text", [["u", "s".repeat(70_000)]])
    expect(item?.row).toBeUndefined()
    expect(item?.faults.map(({ detail }) => detail)).toEqual(["private_extra must not exceed 65536 bytes as JSON"])
  })
})

describe("when a user was created", () => {
  const day = new Date("2020-02-03T04:05:06.000Z")
  const createdOf = async (columns: string, cell: unknown, mapping: Partial<Mapping> = {}) => {
    const [item] = await usersOf(`id text PRIMARY KEY, ${columns}`, [["u", cell]], mapping)
    return [item?.row?.created, item?.row?.extra, item?.faults.map(({ kind }) => kind)]
  }

  test.each([
    ["createdAt datetime", day.getTime(), day.toISOString()],
    ["created_at timestamp", "2020-02-03 04:05:06", day.toISOString()],
    ["created text", day.toISOString(), day.toISOString()],
    ["dateCreated integer", day.getTime() / 1000, day.getTime() / 1000],
  ])("is told by a column %s, which stays a further property too", async (column, cell, kept) => {
    expect(await createdOf(column, cell)).toEqual([day, { [column.split(" ")[0] ?? ""]: kept }, []])
  })

  test("is told by the column that the mapping names, and by none that it ignores", async () => {
    const mapping = { columns: { users: { created: "joined" } } }
    expect(await createdOf("joined date", "2020-02-03 04:05:06", mapping)).toEqual([day, expect.anything(), []])
    const ignored = await createdOf("createdAt date", "2020-02-03", { ignore: { users: ["createdAt"] } })
    expect(ignored).toEqual([undefined, {}, []])
    await expect(usersOf("id text PRIMARY KEY", [], mapping)).rejects.toThrow("the table user has no column joined")
    const { notes } = await originOf("id text PRIMARY KEY, created_on date, created_at date", [])
    expect(notes).toContain("user: created_on is when a user was created")
  })

  test.each([
    [null, []],
    ["never", ["omitted"]],
    ["0001-01-01 00:00:00", ["omitted"]],
    [1, ["omitted"]],
  ])("is not known from %p, which does not cost the user", async (cell, kinds) => {
    expect(await createdOf("createdAt datetime", cell)).toEqual([undefined, expect.anything(), kinds])
  })
})
