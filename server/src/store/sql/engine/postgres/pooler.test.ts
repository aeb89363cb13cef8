import { startPgBouncer } from "@authwire/test-support/connections/pgbouncer.js"
import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { findProgram } from "@authwire/test-support/machine/tools.js"
import { describe, expect, test } from "@jest/globals"
import { Client } from "pg"
import { openSource } from "../../../../import/peer/open.js"
import { applyMigrations, openDatabase } from "../../index.js"

const program = findProgram("pgbouncer")
const later = endsAfterEach()

const describeWithPgBouncer = program !== undefined && databaseTargets().includes("postgres") ? describe : describe.skip

describeWithPgBouncer("a real PgBouncer", () => {
  async function started(mode: "session" | "transaction"): Promise<{ database: TestDatabase; url: string }> {
    const database = await createDatabase("postgres")
    later(() => database.drop())
    const pooler = await startPgBouncer(program as string, database.url, mode)
    later(() => pooler.stop())
    return { database, url: pooler.url }
  }

  test("in transaction mode is rejected before anything is written", async () => {
    const { database, url } = await started("transaction")
    await expect(openDatabase({ url })).rejects.toMatchObject({ cause: { code: "TRANSACTION_POOLER" } })
    expect(await database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).toEqual([])
  })

  test("in session mode is a server like any other", async () => {
    const { url } = await started("session")
    const opened = await openDatabase({ url })
    later(() => opened.close())
    expect(await applyMigrations(opened)).not.toEqual([])
  })

  test("in transaction mode is a source that is read in one schema, and keeps the settings of its connections", async () => {
    const { database, url } = await started("transaction")
    await database.query("CREATE SCHEMA t2")
    for (const [schema, count] of [
      ["public", 1],
      ["t2", 300],
    ] as const) {
      await database.query(`CREATE TABLE ${schema}.things (id int PRIMARY KEY)`)
      await database.query(`INSERT INTO ${schema}.things SELECT generate_series(1, ${count})`)
    }
    // Clients of the application, which share the connections of the pooler with the import.
    const application = new Client({ connectionString: url })
    await application.connect()
    later(() => application.end())
    const settings = async () =>
      (
        await application.query(
          "SELECT current_setting('search_path') AS path, current_setting('datestyle') AS dates, count(*) FROM things",
        )
      ).rows
    const before = await settings()
    const source = await openSource(`${url}?schema=t2`)
    const table = await source.describe("things")
    expect(await settings()).toEqual(before)
    expect(await source.count("things")).toBe(300)
    expect((await source.page(table, undefined, 1_000)).rows).toHaveLength(300)
    await source.close()
    for (let count = 0; count < 5; count++) expect(await settings()).toEqual(before)
  })
})
