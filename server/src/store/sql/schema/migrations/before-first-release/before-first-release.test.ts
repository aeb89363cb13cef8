import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import {
  applyMigrations,
  type Database,
  migrationStatus,
  openDatabase,
  pendingMigrations,
  revertLastMigration,
} from "../../../index.js"
import { disabledUsers } from "./0005-disabled-users.js"

const release = "0001-first-release"
const ofTheLastBuild = ["0001-tables", "0002-private-extra", "0003-changed-keys", "0004-deleted-users"]

/** Queries that list all columns, indexes and triggers of a database, whatever the order of the columns. */
const schemaQueries = {
  sqlite: [
    `SELECT m.name, c.name AS part, c.type, c."notnull", c.dflt_value, c.pk
     FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY 1, 2`,
    `SELECT m.name, i.seqno, i.name AS part FROM sqlite_master m, pragma_index_xinfo(m.name) i
     WHERE m.type = 'index' ORDER BY 1, 2`,
    "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' ORDER BY 1",
  ],
  server: [
    `SELECT table_name AS a, column_name AS b, column_type AS c, is_nullable AS d, column_default AS e, extra AS f,
     collation_name AS g FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, 2`,
    `SELECT table_name AS a, index_name AS b, seq_in_index AS c, column_name AS d, non_unique AS e
     FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3`,
  ],
  postgres: [
    `SELECT table_name, column_name, udt_name, character_maximum_length, is_nullable, column_default, collation_name
     FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2`,
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
    `SELECT trigger_name, event_manipulation, action_statement FROM information_schema.triggers
     WHERE trigger_schema = current_schema() ORDER BY 1, 2`,
  ],
}

describe.each(databaseTargets())("the tables of a build before the first release on %s", (target) => {
  let base: TestDatabase
  let database: Database
  let complete: string

  const schema = async () => {
    const queries = schemaQueries[target === "sqlite" || target === "postgres" ? target : "server"]
    const rows = []
    for (const query of queries) rows.push(...(await base.query(query)))
    // Each PostgreSQL test has a schema of its own, whose name is in the definitions.
    return JSON.stringify(rows, null, 1)
  }

  const record = (name: string) =>
    base.query("INSERT INTO authwire_migrations (timestamp, name) VALUES (?, ?)", [
      Number(name.slice(0, 4)),
      `${name}-${name.slice(0, 4).padStart(13, "0")}`,
    ])

  const forget = (name: string) => base.query("DELETE FROM authwire_migrations WHERE name LIKE ?", [`${name}-%`])

  /** Makes the tables of a build that recorded these migrations: those of the release without what it adds. */
  const makeTables = async (recorded: readonly string[]) => {
    await forget(release)
    for (const name of recorded) await record(name)
    await record(release)
    expect(await revertLastMigration(database)).toBe(release)
  }

  beforeEach(async () => {
    base = await createDatabase(target)
    database = await openDatabase({ url: base.url })
    expect(await applyMigrations(database)).toEqual([release])
    complete = await schema()
  })
  afterEach(async () => {
    await database.close()
    await base.drop()
  })

  test("become exactly those of the first release, keep their rows, and can be made again", async () => {
    await makeTables(ofTheLastBuild)
    const former = await schema()
    expect(former).not.toContain("disabled")
    expect(former).not.toContain("audit_entries")
    await base.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'u', '{}')")
    expect(await pendingMigrations(database)).toEqual([release])
    expect(await migrationStatus(database)).toMatchObject([{ name: release, applied: false, known: true }])

    expect(await applyMigrations(database)).toEqual([release])
    expect(await schema()).toBe(complete)
    expect(await pendingMigrations(database)).toEqual([])
    expect(await base.query("SELECT disabled FROM users")).toEqual([{ disabled: null }])

    expect(await revertLastMigration(database)).toBe(release)
    expect(await schema()).toBe(former)
    expect(await base.query("SELECT tenant FROM users")).toHaveLength(1)
    await expect(revertLastMigration(database)).rejects.toThrow("revert them with it")
  })

  test("of a build that had some of what the release adds get the rest", async () => {
    await makeTables([...ofTheLastBuild, "0005-disabled-users", "0009-audit-entries"])
    const former = await schema()
    expect(former).toContain("audit_entries")
    expect(former).not.toContain("display_name")
    expect(await applyMigrations(database)).toEqual([release])
    expect(await schema()).toBe(complete)
    expect(await revertLastMigration(database)).toBe(release)
    expect(await schema()).toBe(former)
  })

  test("of a build that had made its first tables step by step become the same", async () => {
    const merged = ["lists", "idempotency", "leases", "provisional-users", "expired-verification-tokens"]
    merged.push("session-handles", "row-times", "events", "token-refreshes", "caches")
    const names = merged.map((name, index) => `${String(index + 2).padStart(4, "0")}-${name}`)
    await makeTables([...names, ...ofTheLastBuild])
    expect(await applyMigrations(database)).toEqual([release])
    expect(await schema()).toBe(complete)
  })

  test("are rejected if the build lacked a migration, and nothing is changed", async () => {
    await makeTables(ofTheLastBuild)
    await forget("0003-changed-keys")
    const former = await schema()
    for (const use of [pendingMigrations, applyMigrations]) {
      await expect(use(database)).rejects.toThrow("without 0003-changed-keys")
    }
    await record("0003-changed-keys")
    await record("0002-lists")
    await expect(applyMigrations(database)).rejects.toThrow("without 0003-idempotency, 0004-leases")
    expect(await schema()).toBe(former)
  })

  if (target === "mysql" || target === "mariadb") {
    // These servers commit each change of the tables at once.
    test("are completed after an interruption between two changes", async () => {
      await makeTables(ofTheLastBuild)
      await database.withQueryRunner((runner) => new disabledUsers().up(runner))
      expect(await schema()).not.toBe(complete)
      expect(await applyMigrations(database)).toEqual([release])
      expect(await schema()).toBe(complete)
    })
  }
})
