import { createDatabase, databaseTargets, describeServers } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { describe, expect, test } from "@jest/globals"
import pg from "pg"
import { openDatabase } from "../../store/sql/index.js"
import { check } from "../check.js"
import { copy } from "../copy.js"
import type { Finding } from "../findings.js"
import { noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"

const later = endsAfterEach()

const notText = /^name (is not valid UTF-8|must be text)$/

/** Bytes of a name, and the finding about it, if it cannot be imported unchanged. */
const names: [bytes: string | Buffer, finding?: RegExp][] = [
  ["Ada"],
  ["\u{feff}Ada \u{fffd} é é 👩‍👩‍👧 \u{202e}\u{ffff}"],
  ["ends with blanks  "],
  [""],
  ["'\"\\`;--%_\r\n\t\x01\x7f"],
  ["ceo\0.evil", /^name contains substring `U\+0000`$/],
  ["\0", /^name contains substring `U\+0000`$/],
  [Buffer.from("ff", "hex"), notText],
  // Cut within a character, in ISO 8859-1, longer than needed, one half of a surrogate pair, beyond Unicode.
  ...["4164c3", "416461e9", "41c080", "41eda080", "41f4908080"].map((hex): [Buffer, RegExp] => [
    Buffer.from(hex, "hex"),
    notText,
  ]),
]

/** Addresses that are imported unchanged, and whether Auth.js would ask for another one. */
const addresses: [text: string, isFound: boolean][] = [
  ["Ada@Example.com", true],
  ["ada＠example.com", false],
  ["İ@example.com", false],
  ["é@example.com", true],
  ["É@example.com", false],
  ["ﬁ@example.com", false],
]

const tables = (text: string, bytes: string) => [
  `CREATE TABLE people (id int PRIMARY KEY, email ${text}, name ${bytes}, nick ${bytes})`,
  `CREATE TABLE logins (id int PRIMARY KEY, user_id int, type ${text}, provider ${text}, provider_account_id ${text})`,
  `CREATE TABLE cookies (session_token ${text}, user_id int, expires bigint, id int PRIMARY KEY)`,
]
const mapping = { ...noMapping, tables: { users: "people", accounts: "logins", sessions: "cookies" } }

async function sourceAt(url: string) {
  const source = await openSource(url)
  later(() => source.close())
  return peerSource(source, { peer: "kysely", mapping, tenant: "default" })
}

describe.each(databaseTargets())("1,000 rows with broken text on %s", (target) => {
  test("are named one by one, and no text is changed", async () => {
    const database = await createDatabase(target)
    later(() => database.drop())
    // SQLite stores any bytes as text. The servers check their text, and so broken text is in columns of bytes.
    const [text, bytes, cell] = {
      sqlite: ["text", "text", "CAST(? AS TEXT)"],
      postgres: ["text", "bytea", "?"],
      mysql: ["varchar(100) CHARACTER SET utf8mb4", "varbinary(100)", "?"],
      mariadb: ["varchar(100) CHARACTER SET utf8mb4", "varbinary(100)", "?"],
    }[target] as [string, string, string]
    for (const sql of tables(text, bytes)) await database.query(sql)
    const people = Array.from({ length: 1000 }, (_, id) => {
      const [name, finding] = names[id % names.length] as (typeof names)[number]
      const [address, isFound] = addresses[id % addresses.length] as (typeof addresses)[number]
      return { id, name, finding, address: `${id}${address}`, isFound }
    })
    for (let start = 0; start < people.length; start += 100) {
      const some = people.slice(start, start + 100)
      const marks = some.map(() => `(?, ?, ${cell}, NULL)`).join(", ")
      const cells = some.flatMap(({ id, address, name }) => [id, address, Buffer.from(name)])
      await database.query(`INSERT INTO people VALUES ${marks}`, cells)
    }

    const source = await sourceAt(database.url)
    const found: Finding[] = []
    const checked = await check(source, { onFinding: (finding) => found.push(finding) })
    later(async () => checked.close())
    const invalid = people.filter(({ finding }) => finding !== undefined)
    const ofKind = (kind: string) => found.filter((finding) => finding.kind === kind)
    expect(ofKind("invalid").map(({ row }) => row)).toEqual(invalid.map(({ id }) => `user ${id}`))
    for (const [index, { finding }] of invalid.entries()) {
      expect(ofKind("invalid")[index]?.detail).toMatch(finding as RegExp)
    }
    expect(ofKind("unreachable-address").map(({ row }) => row)).toEqual(
      people.filter(({ isFound }) => !isFound).map(({ id }) => `user ${id}`),
    )

    const ours = await createStoreDatabase(target)
    later(() => ours.drop())
    const opened = await openDatabase({ url: ours.url })
    later(() => opened.close())
    const options = { tenant: "default", encryptionKeys, deletes: false, onRows: () => {} }
    const work = copy({ source, database: opened, check: checked }, options)
    await work.write()
    const rows = await ours.query("SELECT id, email, name FROM users")
    const plain = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value)
    const stored = rows.map(({ id, email, name }) => [plain(id), email, name] as const)
    const expected = people.filter(({ finding }) => finding === undefined)
    expect(stored.sort((one, other) => Number(one[0]) - Number(other[0]))).toEqual(
      expected.map(({ id, address, name }) => [String(id), address, name]),
    )
    expect((await work.compare()).users).toEqual({ missing: 0, changed: 0, surplus: 0, kept: 0 })
  })
})

if (databaseTargets().includes("sqlite")) {
  test("broken text of SQLite in other columns, and in a key at which a page ends, is named too", async () => {
    const database = await createDatabase("sqlite")
    later(() => database.drop())
    const [, ...others] = tables("text", "text")
    const created = "CREATE TABLE people (id text PRIMARY KEY, nick text) WITHOUT ROWID"
    for (const sql of [created, ...others]) await database.query(sql)
    // The broken keys come last, and one of them is the last of the first page.
    const ids = Array.from({ length: 1200 }, (_, n) =>
      n < 990 ? Buffer.from(`u${n}`) : Buffer.from([0xff, n >> 8, n & 255]),
    )
    const rows = [...ids.map((id) => [id, Buffer.from("Ada")]), [Buffer.from("broken"), Buffer.from("ff", "hex")]]
    const marks = rows.map(() => "(CAST(? AS TEXT), CAST(? AS TEXT))").join(", ")
    await database.query(`INSERT INTO people VALUES ${marks}`, rows.flat())
    const found: Finding[] = []
    const checked = await check(await sourceAt(database.url), { onFinding: (finding) => found.push(finding) })
    later(async () => checked.close())
    expect(checked.accepted.users).toBe(990)
    expect(found.filter(({ row }) => row === "user broken").map(({ detail }) => detail)).toEqual([
      "nick is not valid UTF-8",
    ])
    expect(found.filter(({ detail }) => detail.startsWith("id is not valid UTF-8"))).toHaveLength(210)
  })
}

const postgres = databaseTargets().filter((target) => target === "postgres")

describeServers(
  "a database of %s that does not check its text",
  (engine) => {
    test("is read as UTF-8, and what is not is named", async () => {
      const database = await createDatabase(engine)
      later(() => database.drop())
      const url = new URL(database.url)
      const name = `${url.pathname.slice(1)}_ascii`
      await database.query(`CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`)
      later(() => database.query(`DROP DATABASE ${name} WITH (FORCE)`))
      url.pathname = name
      const client = new pg.Client(url.href)
      await client.connect()
      for (const sql of tables("text", "text")) await client.query(sql)
      await client.query(
        `INSERT INTO people VALUES (1, 'ada@example.com', 'Adà', ''), (2, NULL, convert_from('\\x41ff', 'SQL_ASCII'), NULL)`,
      )
      await client.end()
      const found: Finding[] = []
      const source = await sourceAt(url.href)
      const checked = await check(source, { onFinding: (finding) => found.push(finding) })
      later(async () => checked.close())
      expect(checked.accepted.users).toBe(1)
      const [{ detail } = {}] = found
      expect(detail).toBe("name is not valid UTF-8")
      for await (const page of source.pages("users")) {
        expect(page.items(false)[0]?.row).toMatchObject({ id: "1", name: "Adà", extra: { nick: "" } })
      }
    })
  },
  postgres,
)
