import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { expect, test } from "@jest/globals"
import { noMapping } from "./mapping.js"
import { peerSource } from "./peer-source.js"
import { sqliteSource } from "./sqlite.js"

test("integers beyond those of Number lose no digit, and rows with such keys are read once", async () => {
  const database = await createDatabase("sqlite")
  try {
    await database.query("CREATE TABLE user (id integer PRIMARY KEY, discord_id bigint, login_count integer)")
    await database.query(
      `INSERT INTO user VALUES (42, 9007199254740995, 3), (9007199254740993, -9007199254740993, 9007199254740991),
        (9007199254740994, NULL, -9007199254740991)`,
    )
    const source = await sqliteSource(database.url.slice("sqlite:".length))
    try {
      const table = await source.describe("user")
      const read: unknown[][] = []
      let after: unknown[] | undefined
      // One more page than there are rows.
      for (let page = 0; page < 4; page++) {
        for (const cells of (await source.page(table, after, 1)).rows) {
          read.push(cells.slice(0, table.columns.length))
          after = cells.slice(table.columns.length)
        }
      }
      expect(read).toEqual([
        [42, "9007199254740995", 3],
        ["9007199254740993", "-9007199254740993", 9007199254740991],
        ["9007199254740994", null, -9007199254740991],
      ])
    } finally {
      await source.close()
    }
  } finally {
    await database.drop()
  }
})

test.each([
  [{ tables: { users: "nobody" } }, /^--url: there is no table nobody for users; .*the tables are user; say in/],
  [{ columns: { users: { id: "nothing" } } }, /^--url: the table user has no column nothing, only id, name; /],
])("with the mapping %j, what is missing is named", async (mapping, message) => {
  const database = await createDatabase("sqlite")
  await database.query("CREATE TABLE user (id integer PRIMARY KEY, name text)")
  const source = await sqliteSource(database.url.slice("sqlite:".length))
  try {
    const options = { peer: "drizzle", mapping: { ...noMapping, ...mapping }, tenant: "default" } as const
    await expect(peerSource(source, options)).rejects.toThrow(message)
  } finally {
    await source.close()
    await database.drop()
  }
})

test("a pipe is refused, and not waited for", async () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-pipe-"))
  try {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", [pipe])
    await expect(sqliteSource(pipe)).rejects.toThrow(`--url: there is no file ${pipe}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
