import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { describe, expect, test } from "@jest/globals"
import { openDatabase } from "../../store/sql/index.js"
import { check } from "../check.js"
import { copy } from "../copy.js"
import { noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"
import { rowDigest, type Source } from "./source.js"

const later = endsAfterEach()

const ofServers = {
  "varchar(20) CHARACTER SET utf8mb4": ["'é€😀'", "''", "NULL"],
  "varchar(21) CHARACTER SET latin1": ["'é'"],
  "char(5)": ["'a'"],
  "tinyint(1)": ["0", "1"],
  "int(6) ZEROFILL": ["7"],
  "bigint ZEROFILL": ["7"],
  "decimal(8,2) ZEROFILL": ["7.5"],
  "double ZEROFILL": ["7"],
  "bigint unsigned": ["18446744073709551615"],
  "decimal(20,3)": ["12345678901234567.100"],
  float: ["0.1", "1e30", "123456789"],
  double: ["0.1", "1e22", "-1.5e-7", "9007199254740993", "3"],
  "bit(9)": ["b'101000001'"],
  "binary(4)": ["X'00FF00'"],
  blob: ["X'FF00'"],
  date: ["'2020-02-03'"],
  "datetime(3)": ["'2020-02-03 04:05:06.7'"],
  timestamp: ["'2020-02-03 04:05:06'"],
  time: ["'-12:34:56'"],
  year: ["2024", "0"],
  "enum('a','é')": ["'é'"],
  "set('x','y')": ["'x,y'"],
  json: [`'{"a": [1, "é"]}'`],
  point: ["ST_GeomFromText('POINT(1 2)')"],
}

/** For each engine, types of columns and values of them. */
const values: Record<string, Record<string, string[]>> = {
  sqlite: {
    "": ["'é€😀'", "''", "0", "0.1", "-2.5", "1e300", "3.0", "9e999", "9007199254740993", "X'FF00'", "NULL"],
    text: ["'a' || char(0) || 'b'", "CAST(X'41FF' AS TEXT)", "1.0"],
    real: ["7", "'x'"],
  },
  mysql: ofServers,
  mariadb: { ...ofServers, uuid: ["'123e4567-e89b-12d3-a456-426655440000'"] },
  postgres: {
    text: ["'é€😀'", "''", "NULL", "'\\x41'"],
    "char(5)": ["'a'"],
    bigint: ["9223372036854775807"],
    numeric: ["12345678901234567.100", "'NaN'"],
    float8: ["0.1", "1e22", "'-Infinity'"],
    real: ["0.1"],
    bool: ["true", "false"],
    bytea: ["'\\x00ff'"],
    date: ["'2020-02-03'"],
    timestamptz: ["'2020-02-03 04:05:06.7+00'"],
    interval: ["'1 day 2:03'"],
    json: [`'{"a":  "\\u0000"}'`],
    jsonb: [`'{"a":  [1.10]}'`],
    "text[]": [`'{a,"b,c",NULL}'`],
    "bytea[]": ["ARRAY['\\x00'::bytea]"],
    money: ["12.5"],
    inet: ["'10.0.0.1/8'"],
    timestamp: ["'infinity'", "'0044-03-15 BC'"],
    "numeric[]": ["'{1.50,NULL}'"],
    "varchar(5)[]": ["'{}'"],
    "bit(3)": ["B'101'"],
    int4range: ["'[1,5)'"],
    tsvector: ["'a b'"],
    xml: ["'<a/>'"],
    macaddr: ["'08:00:2b:01:02:03'"],
    oid: ["7"],
    name: ["'n'"],
    point: ["'(1,2)'"],
    time: ["'1:2:3.4'"],
    '"char"': ["'x'"],
  },
}

describe.each(databaseTargets())("the digests that %s computes", (target) => {
  const dialect = target === "postgres" ? "text" : "varchar(100)"

  async function opened(...statements: string[]): Promise<Source> {
    const database = await createDatabase(target)
    later(() => database.drop())
    for (const sql of statements) await database.query(sql)
    const source = await openSource(database.url)
    later(() => source.close())
    return source
  }

  test("are those of what is read, for every type of column", async () => {
    const all = Object.entries(values[target] ?? {}).flatMap(([type, list]) => list.map((value) => [type, value]))
    const source = await opened(
      `CREATE TABLE things (id int PRIMARY KEY, ${all.map(([type], n) => `c${n} ${type}`).join(", ")})`,
      `INSERT INTO things VALUES (1, ${all.map(([, value]) => value).join(", ")})`,
    )
    const table = await source.describe("things")
    // Column by column, so that a failure names the type.
    const differ: unknown[] = []
    for (const column of table.columns) {
      const one = { ...table, columns: [column] }
      const page = await source.page(one, undefined, 10)
      if (column.isOpaque) continue
      const [cells = []] = page.rows
      const [digest] = (await page.digests?.()) ?? []
      if (digest !== rowDigest([column], cells)) differ.push([column.type, cells[0]])
    }
    expect(differ).toEqual([])
    const { rows, digests } = await source.page(table, undefined, 10)
    const [cells = []] = rows
    const [digest] = (await digests?.()) ?? []
    expect(digest).toBe(rowDigest(table.columns, cells))
  })

  const people = [
    `CREATE TABLE people (id int PRIMARY KEY, email ${dialect}, email_verified bigint, name ${dialect})`,
    `CREATE TABLE logins (id int PRIMARY KEY, user_id int, type ${dialect}, provider ${dialect}, provider_account_id ${dialect})`,
    `CREATE TABLE cookies (session_token ${dialect} PRIMARY KEY, user_id int, expires bigint)`,
    "INSERT INTO people VALUES (1, 'ada@example.com', 0, 'Ada'), (2, 'eve@example.com', 0, 'Eve')",
  ]
  const mapping = { ...noMapping, tables: { users: "people", accounts: "logins", sessions: "cookies" } }

  const lies: [string, (cells: unknown[]) => void][] = [
    ["cuts a text", (cells) => cells.splice(3, 1, String(cells[3]).slice(0, 2))],
    ["makes a date of 0", (cells) => cells.splice(2, 1, "1970-01-01 00:00:00")],
    ["makes 0 of null and null of 0", (cells) => cells.splice(2, 1, null)],
    ["swaps two columns", (cells) => cells.splice(1, 3, cells[3], cells[2], cells[1])],
    [
      "repeats a row",
      (cells) =>
        cells.splice(
          0,
          4,
          ...[1, "ada@example.com", 0, "Ada"].map((one) => (target === "postgres" ? String(one) : one)),
        ),
    ],
  ]

  test.each(lies)("show a reader that %s", async (_, lie) => {
    const source = await opened(...people)
    const lying: Source = {
      ...source,
      async page(table, after, limit) {
        const page = await source.page(table, after, limit)
        if (table.name === "people") lie(page.rows[1] as unknown[])
        return page
      },
    }
    const checkOf = async (read: Source) =>
      check(await peerSource(read, { peer: "kysely", mapping, tenant: "default" }))
    const honest = await checkOf(source)
    expect(honest.accepted.users).toBe(2)
    honest.close()
    await expect(checkOf(lying)).rejects.toThrow(/people: the digest that the database computes is not .*: user /)
  })

  test.each([0, 1])("show the rows that the reader leaves out after %d rows", async (count) => {
    const source = await opened(...people)
    const lying: Source = {
      ...source,
      async page(...given) {
        const page = await source.page(...given)
        return { ...page, rows: page.rows.slice(0, count) }
      },
    }
    const origin = await peerSource(lying, { peer: "kysely", mapping, tenant: "default" })
    await expect(check(origin)).rejects.toThrow("the digest that the database computes")
  })

  test("show in the comparison a reader that does not lie until then", async () => {
    const source = await opened(...people)
    let isLying = false
    const page: Source["page"] = async (table, ...rest) => {
      const read = await source.page(table, ...rest)
      if (isLying && table.name === "people") read.rows[1]?.splice(3, 1, "Ev")
      return read
    }
    const origin = await peerSource({ ...source, page }, { peer: "kysely", mapping, tenant: "default" })
    const checked = await check(origin)
    later(async () => checked.close())
    const ours = await createDatabase("sqlite")
    later(() => ours.drop())
    await migrate(ours)
    const database = await openDatabase({ url: ours.url })
    later(() => database.close())
    const options = { tenant: "default", encryptionKeys, deletes: false, onRows: () => {} }
    const work = copy({ source: origin, database, check: checked }, options)
    await work.write()
    isLying = true
    await expect(work.compare()).rejects.toThrow("people: the digest that the database computes")
  })

  test("a view is read by the columns that Auth.js looks up, if these are unique", async () => {
    const [, logins = "", cookies = ""] = people
    const source = await opened(
      `CREATE TABLE persons (number int PRIMARY KEY, mail ${dialect})`,
      "INSERT INTO persons VALUES (1, 'ada@example.com'), (2, NULL), (3, 'eve@example.com')",
      `CREATE VIEW people AS SELECT number + 1000 AS id, mail AS email, 7 AS same FROM persons`,
      logins,
      cookies,
    )
    const options = { peer: "kysely", mapping, tenant: "default" } as const
    const checked = await check(await peerSource(source, options))
    later(async () => checked.close())
    expect(checked.accepted.users).toBe(3)
    const table = { ...(await source.describe("people")), key: ["id"] }
    const [first] = (await source.page(table, undefined, 1)).rows
    expect(first?.map(String)).toEqual(["1001", "ada@example.com", "7", "1001"])
    const rest = await source.page(table, first?.slice(3), 10)
    expect(rest.rows.map(([id]) => Number(id))).toEqual([1002, 1003])
    const others = { ...mapping, columns: { users: { id: "same" } } }
    await expect(peerSource(source, { ...options, mapping: others })).rejects.toThrow(
      "--url: people has no unique key to read it by, and several rows have the same same, or null",
    )
  })
})
