import { readdirSync } from "node:fs"
import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { isNow, schemaOf, tableNames, undeclaredParts } from "@authwire/test-support/databases/declared-tables.js"
import { anyone, encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import {
  applyMigrations,
  type Database,
  migrationStatus,
  openDatabase,
  openSqlStore,
  revertLastMigration,
} from "../index.js"
import { migration } from "./migrations/migration.js"

const names = readdirSync(new URL("./migrations", import.meta.url))
  .filter((file) => /^\d{4}-/.test(file))
  .map((file) => file.replace(/\.[jt]s$/, ""))
  .sort()
const tables = [
  ...["accounts", "api_keys", "audit_entries", "authenticators", "caches", "ended_tokens", "event_head", "events"],
  ...["idempotency_keys", "leases", "session_policies", "sessions", "signing_keys", "tenants", "users"],
  ...["verification_tokens", "webhook_deliveries", "webhooks"],
]

const pendingMigrations = async (database: Database) =>
  (await migrationStatus(database)).filter(({ applied }) => !applied).map(({ name }) => name)

describe.each(databaseTargets())("migrations on %s", (target) => {
  let empty: TestDatabase
  let database: Database

  const isInnoDb = target === "mysql" || target === "mariadb"
  const schema = schemaOf(target)
  const tablesThere = async () => (await tableNames(empty)).filter((name) => name !== "authwire_migrations")
  const differences = () => undeclaredParts(database)

  const revertAll = async () => {
    while ((await revertLastMigration(database)) !== undefined);
  }

  beforeAll(async () => {
    empty = await createDatabase(target)
    // The tables must not depend on the database's default character set.
    if (isInnoDb) {
      await empty.query(`ALTER DATABASE ${new URL(empty.url).pathname.slice(1)} CHARACTER SET latin1`)
    }
    database = await openDatabase({ url: empty.url })
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  test("in an empty database all are pending, and reading the status changes nothing", async () => {
    expect(await pendingMigrations(database)).toEqual(names)
    const told = { compatible: expect.any(Boolean), reason: expect.stringMatching(/^[a-z].* .*[a-z]$/) }
    expect(await migrationStatus(database)).toEqual(
      names.map((name) => ({ name, applied: false, known: true, previousVersion: told })),
    )
    expect(await tablesThere()).toEqual([])
  })

  test("are applied in their order, by one of several processes at the same time", async () => {
    const others = await Promise.all([openDatabase({ url: empty.url }), openDatabase({ url: empty.url })])
    const applied = await Promise.all([database, ...others].map(applyMigrations))
    expect(applied.flat()).toEqual(names)
    expect(await tablesThere()).toEqual(tables)
    expect(await pendingMigrations(database)).toEqual([])
    expect(await applyMigrations(database)).toEqual([])
    for (const other of others) await other.close()
  })

  test("create exactly the tables that the entities declare", async () => {
    await applyMigrations(database)
    expect(await differences()).toEqual([])
  })

  // TypeORM does not compare collations.
  test("give every column exactly the collation that its entity declares", async () => {
    if (target === "sqlite") return
    await applyMigrations(database)
    const declared = database.dataSource.entityMetadatas.flatMap(({ tableName, columns }) =>
      columns.map(({ databaseName, collation }) => ({
        column: `${tableName}.${databaseName}`,
        collation: collation ?? null,
      })),
    )
    const sql = `SELECT CONCAT(table_name, '.', column_name) AS name, collation_name AS collated
      FROM information_schema.columns WHERE table_schema = ${schema} AND table_name <> 'authwire_migrations'`
    const found = (await empty.query(sql)).map(({ name, collated }) => ({ column: name, collation: collated }))
    expect(found).toEqual(expect.arrayContaining(declared))
    expect(found).toHaveLength(declared.length)
    expect(new Set(declared.map(({ collation }) => collation))).toEqual(new Set([null, isInnoDb ? "utf8mb4_bin" : "C"]))
  })

  test("give every table a primary key, and no key that cascades", async () => {
    for (const table of tables) {
      if (target === "sqlite") {
        const columns = await empty.query(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0`)
        expect([table, columns.length > 0]).toEqual([table, true])
        const cascading = `SELECT on_delete FROM pragma_foreign_key_list('${table}') WHERE on_delete <> 'NO ACTION'`
        expect(await empty.query(cascading)).toEqual([])
        continue
      }
      const where = `WHERE table_schema = ${schema} AND table_name = ?`
      if (isInnoDb) {
        const engines = await empty.query(`SELECT engine AS engine FROM information_schema.tables ${where}`, [table])
        expect(engines).toEqual([{ engine: "InnoDB" }])
      }
      const keys = `SELECT constraint_name AS name FROM information_schema.table_constraints ${where} AND constraint_type = 'PRIMARY KEY'`
      expect(await empty.query(keys, [table])).toHaveLength(1)
    }
    if (target !== "sqlite") {
      const rules = `SELECT constraint_name AS name, delete_rule AS rule FROM information_schema.referential_constraints
        WHERE constraint_schema = ${schema} ORDER BY constraint_name`
      const found = await empty.query(rules)
      const users = ["accounts", "authenticators", "sessions"].map((name) => `${name}_user_id_fkey`)
      expect(found.map((row) => row.name)).toEqual(["api_keys_tenant_fkey", ...users].sort())
      for (const { rule } of found) expect(["NO ACTION", "RESTRICT"]).toContain(rule)
    }
  })

  test("one that a newer version applied is shown, and reverting it is rejected", async () => {
    const name = "0099-future-0000000000099"
    await empty.query("INSERT INTO authwire_migrations (timestamp, name) VALUES (99, ?)", [name])
    expect(await migrationStatus(database)).toContainEqual({ name: "0099-future", applied: true, known: false })
    expect(await pendingMigrations(database)).toEqual([])
    await expect(revertLastMigration(database)).rejects.toThrow("0099-future")
    await empty.query("DELETE FROM authwire_migrations WHERE name = ?", [name])
  })

  test.each(["0001-tables", "0001-first-release"])(
    "a database of a build that was never released is rejected by all, and nothing changes: %s",
    async (name) => {
      const other = await createDatabase(target)
      const opened = await openDatabase({ url: other.url })
      await applyMigrations(opened)
      const recorded = `${name}-0000000000001`
      await other.query("UPDATE authwire_migrations SET name = ?", [recorded])
      for (const use of [migrationStatus, applyMigrations, revertLastMigration]) {
        await expect(use(opened)).rejects.toThrow(`made these tables (${name}): export what is needed`)
      }
      expect(await tableNames(other)).toEqual([...tables, "authwire_migrations"].sort())
      const rows = await other.query("SELECT name FROM authwire_migrations")
      expect(rows.map((row) => row.name)).toEqual([recorded])
      await opened.close()
      await other.drop()
    },
  )

  test("are reverted one by one, down to nothing, and can be applied again", async () => {
    for (const name of [...names].reverse()) expect(await revertLastMigration(database)).toBe(name)
    expect(await revertLastMigration(database)).toBeUndefined()
    expect(await tablesThere()).toEqual([])
    expect(await applyMigrations(database)).toEqual(names)
  })

  test.each(["authenticators", "event_head", "caches"])(
    "one that fails changes nothing, and succeeds once the unrelated table with the name of a new one is gone: %s",
    async (table) => {
      await revertAll()
      await empty.query(`CREATE TABLE ${table} (a INTEGER PRIMARY KEY)`)
      await expect(applyMigrations(database)).rejects.toThrow(table)
      expect(await tablesThere()).toEqual([table])
      expect(await empty.query(`SELECT a FROM ${table}`)).toEqual([])
      expect(await pendingMigrations(database)).toEqual(names)
      await empty.query(`DROP TABLE ${table}`)
      expect(await applyMigrations(database)).toEqual(names)
      expect(await tablesThere()).toEqual(tables)
    },
  )

  if (isInnoDb) {
    test("temporary tables that an interrupted process left do not prevent a migration", async () => {
      await revertAll()
      await empty.query("CREATE TABLE authwire_new_users (id INTEGER PRIMARY KEY)")
      await empty.query("CREATE TABLE authwire_new_sessions (user_id INTEGER REFERENCES authwire_new_users (id))")
      expect(await applyMigrations(database)).toEqual(names)
      expect(await tablesThere()).toEqual(tables)
    })

    // The server may finish a statement after its process has ended.
    test("one that was done but not recorded is recorded when it is applied or reverted again", async () => {
      await applyMigrations(database)
      for (const name of names) {
        await empty.query("DELETE FROM authwire_migrations WHERE name LIKE ?", [`${name}-%`])
        expect(await applyMigrations(database)).toEqual([name])
        expect(await pendingMigrations(database)).toEqual([])
      }
      expect(await differences()).toEqual([])
      expect(await empty.query("SELECT name FROM tenants")).toHaveLength(1)
      for (const name of [...names].reverse()) {
        const last = database.dataSource.migrations.find((one) => one.name?.startsWith(name))
        await database.withQueryRunner(async (runner) => last?.down(runner))
        expect(await revertLastMigration(database)).toBe(name)
      }
      expect(await tablesThere()).toEqual([])
      expect(await applyMigrations(database)).toEqual(names)
    })
  }

  test("the only initial tenant is the default one", async () => {
    const rows = await empty.query("SELECT name, created FROM tenants")
    expect(rows.map(({ name }) => String(name))).toEqual(["default"])
    expect(isNow(rows[0]?.created)).toBe(true)
  })

  test("rows that others insert get the present time, and each session a handle of its own", async () => {
    // The service uses UTC; the default of the server may differ.
    if (isInnoDb) await empty.query("SET time_zone = '+00:00'")
    await empty.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'u', '{}')")
    for (const digit of ["1", "2"]) {
      const hash = digit.repeat(64)
      await empty.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
        VALUES ('default', ${target === "postgres" ? `'\\x${hash}'` : `X'${hash}'`}, 'u', '2031-01-02 03:04:05.000', '{}')`)
    }
    const rows = await empty.query("SELECT id, created FROM sessions")
    expect(new Set(rows.map(({ id }) => String(id))).size).toBe(2)
    for (const { id, created } of rows)
      expect([String(id), isNow(created)]).toEqual([expect.stringMatching(/^[0-9A-F]{32}$/), true])
    const [user] = await empty.query("SELECT created, updated FROM users")
    expect([isNow(user?.created), isNow(user?.updated)]).toEqual([true, true])
    await empty.query("DELETE FROM sessions")
    await empty.query("DELETE FROM users")
  })

  // This example has the form of the next migration of the folder.
  test("the next one is applied to tables that hold rows, and reverted alone", async () => {
    const Next = migration({
      name: "9000-users-example",
      previousVersion: { compatible: true, reason: "the column may be null" },
      makes: { table: "users", column: "example" },
      server: "ALTER TABLE users ADD COLUMN example VARCHAR(35) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL",
      sqlite: `ALTER TABLE "users" ADD COLUMN "example" text`,
      postgres: 'ALTER TABLE users ADD COLUMN example varchar(35) COLLATE "C"',
      down: "ALTER TABLE users DROP COLUMN example",
    })
    await empty.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'u', '{}')")
    const newer = await openDatabase({ url: empty.url })
    newer.dataSource.migrations.push(new Next())
    expect(await pendingMigrations(newer)).toEqual(["9000-users-example"])
    if (target !== "sqlite") {
      // While another transaction uses the table it gives up, so that no statement waits behind it.
      await empty.query("START TRANSACTION")
      await empty.query("SELECT id FROM users")
      const failure = await applyMigrations(newer).catch((error) => error)
      expect(failure).toMatchObject({
        reason: "CONFLICT",
        cause: { failure: "locked", code: isInnoDb ? "ER_LOCK_WAIT_TIMEOUT" : "55P03" },
      })
      await database.withQueryRunner((runner) => runner.query("SELECT id FROM users"))
      await empty.query("COMMIT")
    }
    expect(await applyMigrations(newer)).toEqual(["9000-users-example"])
    expect(await empty.query("SELECT example FROM users")).toEqual([{ example: null }])
    expect(await migrationStatus(database)).toContainEqual({ name: "9000-users-example", applied: true, known: false })
    expect(await revertLastMigration(newer)).toBe("9000-users-example")
    await expect(empty.query("SELECT example FROM users")).rejects.toThrow("example")
    expect(await pendingMigrations(newer)).toEqual(["9000-users-example"])
    expect(await pendingMigrations(database)).toEqual([])
    expect(await empty.query("SELECT tenant FROM users")).toHaveLength(1)
    await newer.close()
    await empty.query("DELETE FROM users")
  })

  test("a store works in the same process that applied them, also after a change of tables", async () => {
    const store = await openSqlStore({ encryptionKeys, url: empty.url })
    await store.users.create(anyone, { id: "u", extra: {} })
    await empty.query("ALTER TABLE users ADD COLUMN later INTEGER")
    expect(await store.users.get(anyone, "u")).toEqual({ id: "u", extra: {} })
    await store.close()
  })
})

if (databaseTargets().includes("sqlite")) {
  test("an in-memory database is migrated by its own store", async () => {
    const store = await openSqlStore({ encryptionKeys, url: "sqlite::memory:" })
    expect(await applyMigrations(store.database)).toEqual(names)
    expect(await store.users.create(anyone, { id: "u", extra: {} })).toEqual({ id: "u", extra: {} })
    expect(await store.users.get(anyone, "u")).toEqual({ id: "u", extra: {} })
    await store.close()
  })
}
