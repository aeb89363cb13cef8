import { copyFileSync, readFileSync } from "node:fs"
import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { describe, expect, test } from "@jest/globals"
import { openSource } from "./open.js"
import { rowDigest, type Source } from "./source.js"

const later = endsAfterEach()

const keysOfServers = {
  "enum('b', 'a', 'c')": ["'b'", "'a'", "'c'"],
  "set('b', 'a')": ["'b'", "'a'", "'b,a'"],
  "binary(2)": ["X'00ff'", "X'ff00'", "X'ff01'"],
  "varchar(9)": ["'a'", "'é'", "'z'"],
  "datetime(3)": ["'2020-01-01 00:00:00.001'", "'2020-01-01 00:00:00.002'", "'2021-01-01'"],
  "decimal(20,2)": ["'12345678901234567.10'", "'12345678901234567.20'", "'-1'"],
  "bigint unsigned": ["18446744073709551615", "18446744073709551614", "1"],
  double: ["0.1", "1e22", "-3"],
}

/** For each engine, types of keys with three values. */
const keys: Record<string, Record<string, string[]>> = {
  sqlite: { text: ["'a'", "X'ff'", "1.5"], "text, rowid text, oid int": ["'a'", "'b'", "'c'"] },
  mysql: keysOfServers,
  mariadb: keysOfServers,
  postgres: {
    bytea: ["'\\x00ff'", "'\\xff00'", "'\\xff01'"],
    timestamptz: ["'2020-01-01 00:00:00.001+02'", "'2020-01-01 00:00:00.002+02'", "'2021-01-01'"],
    numeric: ["12345678901234567.10", "12345678901234567.20", "'NaN'"],
    float8: ["0.1", "1e22", "'Infinity'"],
    "char(3)": ["'a'", "'é'", "'z'"],
    uuid: ["gen_random_uuid()", "gen_random_uuid()", "gen_random_uuid()"],
  },
}

describe.each(databaseTargets())("a source on %s", (target) => {
  test.each(Object.entries(keys[target] ?? {}))("is read once and wholly by a key of type %s", async (type, values) => {
    const database = await createDatabase(target)
    later(() => database.drop())
    await database.query(`CREATE TABLE things (id ${type}, PRIMARY KEY (id))`)
    for (const value of values) await database.query(`INSERT INTO things (id) VALUES (${value})`)
    const source = await opened(database.url)
    const table = await source.describe("things")
    const read: string[] = []
    for (let after: unknown[] | undefined; read.length < 4; ) {
      const [cells] = (await source.page(table, after, 1)).rows
      if (cells === undefined) break
      read.push(String(cells[0]))
      after = cells.slice(table.columns.length)
    }
    expect(new Set(read).size).toBe(3)
    expect(read).toHaveLength(3)
  })

  async function prepared(): Promise<TestDatabase> {
    const database = await createDatabase(target)
    later(() => database.drop())
    if (target === "sqlite") await database.query("PRAGMA journal_mode = WAL")
    await database.query("CREATE TABLE things (id int PRIMARY KEY)")
    await database.query("INSERT INTO things VALUES (1), (2)")
    return database
  }
  async function opened(url: string): Promise<Source> {
    const source = await openSource(url)
    later(() => source.close())
    return source
  }
  const idsIn = async (source: Source) =>
    (await source.page(await source.describe("things"), undefined, 10)).rows.map(([id]) => Number(id))

  test("has one state: what the application commits meanwhile is not seen, and can be committed", async () => {
    const database = await prepared()
    const source = await opened(database.url)
    expect(await idsIn(source)).toEqual([1, 2])
    await database.query("INSERT INTO things VALUES (3)")
    expect(await idsIn(source)).toEqual([1, 2])
    expect(await source.count("things")).toBe(2)
  })

  test("cannot be written, whatever is sent to it", async () => {
    const database = await prepared()
    // The name of a table is the only text of the user in a statement. Quoted, it is nothing else.
    const source = await opened(database.url)
    const quote = target === "sqlite" || target === "postgres" ? '"' : "`"
    const injected = `things${quote}; DELETE FROM things; --`
    await expect(source.count(injected)).rejects.toThrow()
    expect(await database.query("SELECT id FROM things")).toHaveLength(2)
  })

  // In SQLite no function and no view can write; below, its driver is asked to.
  if (target !== "sqlite") {
    test("cannot be written by a view whose function writes", async () => {
      const database = await prepared()
      await database.query(
        target === "postgres"
          ? "CREATE FUNCTION writes() RETURNS int LANGUAGE sql AS 'INSERT INTO things VALUES (3) RETURNING id'"
          : "CREATE FUNCTION writes() RETURNS int DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO things VALUES (3); RETURN 3; END",
      )
      await database.query("CREATE VIEW trap AS SELECT writes() AS id")
      const source = await opened(database.url)
      const column = { name: "id", type: "int", maxLength: undefined, folds: false }
      const table = { name: "trap", columns: [column], key: ["id"] }
      const rejection = target === "postgres" ? "25006" : "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION"
      await expect(source.page(table, undefined, 1)).rejects.toMatchObject({ code: rejection })
      expect(await database.query("SELECT id FROM things")).toHaveLength(2)
      // Without the source's transaction, the view does write.
      await database.query("SELECT id FROM trap")
      expect(await database.query("SELECT id FROM things")).toHaveLength(3)
    })
  }
})

if (databaseTargets().includes("sqlite")) {
  test("a SQLite file keeps its bytes, and its write-ahead log", async () => {
    const database = await createDatabase("sqlite")
    later(() => database.drop())
    await database.query("PRAGMA journal_mode = WAL")
    await database.query("CREATE TABLE things (id int PRIMARY KEY)")
    const path = database.url.slice("sqlite:".length)
    // A copy, which no other connection has open, so that the last one that may write would end the log.
    for (const end of ["", "-wal"]) copyFileSync(path + end, `${path}-copy${end}`)
    const files = () => [path, `${path}-wal`].map((file) => readFileSync(file.replace(path, `${path}-copy`), "base64"))
    const before = files()
    const source = await openSource(`${database.url}-copy`)
    expect(await source.count("things")).toBe(0)
    await source.close()
    expect(files()).toEqual(before)
  })

  test("an application that commits to a SQLite file without a write-ahead log is not kept from it", async () => {
    const database = await createDatabase("sqlite")
    later(() => database.drop())
    await database.query("PRAGMA journal_mode = DELETE")
    await database.query("CREATE TABLE things (id int PRIMARY KEY)")
    const source = await openSource(database.url)
    later(() => source.close())
    const table = await source.describe("things")
    for (let id = 0; id < 20; id++) {
      await database.query("INSERT INTO things VALUES (?)", [id])
      const { rows, digests } = await source.page(table, undefined, 100)
      expect(rows).toHaveLength(id + 1)
      await database.query("UPDATE things SET id = id - 100 WHERE id = ?", [id])
      // The digests are those of the state that was read.
      expect(await digests?.()).toEqual(rows.map((cells) => rowDigest(table.columns, cells)))
    }
  })
}

if (databaseTargets().includes("postgres")) {
  describe("the schema of a PostgreSQL source", () => {
    const inSchemas = async (ids: Record<string, number>) => {
      const database = await createDatabase("postgres")
      later(() => database.drop())
      for (const [schema, id] of Object.entries(ids)) {
        await database.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
        await database.query(`CREATE TABLE "${schema}".things (id int PRIMARY KEY)`)
        await database.query(`INSERT INTO "${schema}".things VALUES (${id})`)
      }
      return database
    }
    const idIn = async (url: string) => {
      const source = await openSource(url)
      later(() => source.close())
      const [[id] = []] = (await source.page(await source.describe("things"), undefined, 1)).rows
      return Number(id)
    }

    test("is the one of the URL, else the first of the search_path", async () => {
      const { url } = await inSchemas({ public: 1, t2: 2, "role's": 3 })
      const and = url.includes("?") ? "&" : "?"
      await expect(idIn(url)).rejects.toThrow("there is a table things in the schema public, and also in role's, t2")
      expect(await idIn((await inSchemas({ public: 1 })).url)).toBe(1)
      expect(await idIn(`${url}${and}schema=t2`)).toBe(2)
      const options = encodeURIComponent(`-c search_path="role's"`)
      expect(await idIn(`${url}${and}options=${options}`)).toBe(3)
    })
  })
}
