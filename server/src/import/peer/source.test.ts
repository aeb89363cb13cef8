import { readFileSync } from "node:fs"
import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { describe, expect, test } from "@jest/globals"
import { openSqliteToRead } from "../sqlite.js"
import { openSource } from "./open.js"
import type { Source } from "./source.js"

const later = endsAfterEach()
const everything = { after: undefined, upTo: undefined }

describe.each(databaseTargets())("a source on %s", (target) => {
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
    (await source.page(await source.describe("things"), everything, 10)).map(([id]) => Number(id))

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
      await expect(source.page(table, everything, 1)).rejects.toMatchObject({ code: rejection })
      expect(await database.query("SELECT id FROM things")).toHaveLength(2)
      // Without the source's transaction, the view does write.
      await database.query("SELECT id FROM trap")
      expect(await database.query("SELECT id FROM things")).toHaveLength(3)
    })
  }
})

if (databaseTargets().includes("sqlite")) {
  test("a SQLite file that another process has open keeps its bytes and its write-ahead log, and rejects writes", async () => {
    const database = await createDatabase("sqlite")
    later(() => database.drop())
    await database.query("PRAGMA journal_mode = WAL")
    await database.query("CREATE TABLE things (id int PRIMARY KEY)")
    const path = database.url.slice("sqlite:".length)
    const files = () => [path, `${path}-wal`].map((file) => readFileSync(file).toString("base64"))
    const before = files()
    const reader = openSqliteToRead(path)
    expect(reader.prepare("SELECT count(*) AS n FROM things").get()).toMatchObject({ n: 0 })
    expect(() => reader.exec("INSERT INTO things VALUES (1)")).toThrow(/readonly/)
    reader.close()
    expect(files()).toEqual(before)
  })
}

if (databaseTargets().includes("sqlite")) {
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
      expect(await source.page(table, everything, 100)).toHaveLength(id + 1)
    }
  })
}

if (databaseTargets().includes("postgres")) {
  describe("the schema of a PostgreSQL source", () => {
    const inSchemas = async () => {
      const database = await createDatabase("postgres")
      later(() => database.drop())
      for (const [schema, id] of [
        ["public", 1],
        ["t2", 2],
        ["role's", 3],
      ] as const) {
        await database.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
        await database.query(`CREATE TABLE "${schema}".things (id int PRIMARY KEY)`)
        await database.query(`INSERT INTO "${schema}".things VALUES (${id})`)
      }
      return database
    }
    const idIn = async (url: string) => {
      const source = await openSource(url)
      later(() => source.close())
      const [[id] = []] = await source.page(await source.describe("things"), everything, 1)
      return Number(id)
    }

    test("is the one of the URL, else the first of the search_path", async () => {
      const { url } = await inSchemas()
      const and = url.includes("?") ? "&" : "?"
      expect(await idIn(url)).toBe(1)
      expect(await idIn(`${url}${and}schema=t2`)).toBe(2)
      const options = encodeURIComponent(`-c search_path="role's"`)
      expect(await idIn(`${url}${and}options=${options}`)).toBe(3)
    })
  })
}
