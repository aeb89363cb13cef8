import { createHash } from "node:crypto"
import { readdirSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { createDatabase, databaseTargets, type TestDatabase } from "../../../../test/support/databases.js"
import { anyone, encryptionKeys } from "../contract/context.js"
import {
  applyMigrations,
  type Database,
  migrationStatus,
  openDatabase,
  openSqlStore,
  pendingMigrations,
  revertLastMigration,
} from "./index.js"

const names = readdirSync(new URL("migrations", import.meta.url))
  .filter((file) => /^\d{4}-/.test(file))
  .map((file) => file.replace(/\.[jt]s$/, ""))
  .sort()
const tables = ["accounts", "api_keys", "authenticators", "sessions", "tenants", "users", "verification_tokens"]

describe.each(databaseTargets())("migrations on %s", (target) => {
  let empty: TestDatabase
  let database: Database

  const tablesThere = async () => {
    const sql =
      target === "sqlite"
        ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name"
    return (await empty.query(sql)).map((row) => row.name).filter((name) => name !== "authwire_migrations")
  }

  /** Takes back what comes after a migration. */
  const revertTo = async (name: string) => {
    while ((await migrationStatus(database)).findLast(({ applied }) => applied)?.name !== name) {
      await revertLastMigration(database)
    }
  }

  beforeAll(async () => {
    empty = await createDatabase(target)
    // The tables must not depend on what a database is set to.
    if (target !== "sqlite") {
      await empty.query(`ALTER DATABASE ${new URL(empty.url).pathname.slice(1)} CHARACTER SET latin1`)
    }
    database = await openDatabase({ url: empty.url })
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  test("in an empty database all are pending, and looking changes nothing", async () => {
    expect(await pendingMigrations(database)).toEqual(names)
    expect(await migrationStatus(database)).toEqual(names.map((name) => ({ name, applied: false, known: true })))
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

  test("make exactly the tables that the entities declare", async () => {
    await applyMigrations(database)
    const { upQueries } = await database.dataSource.driver.createSchemaBuilder().log()
    expect(upQueries.map(({ query }) => query)).toEqual([])
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
    const sql = `SELECT CONCAT(table_name, '.', column_name) AS \`column\`, collation_name AS collation
      FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'authwire_migrations'`
    const found = await empty.query(sql)
    expect(found).toEqual(expect.arrayContaining(declared))
    expect(found).toHaveLength(declared.length)
    expect(new Set(declared.map(({ collation }) => collation))).toEqual(new Set([null, "utf8mb4_bin"]))
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
      const where = "WHERE table_schema = DATABASE() AND table_name = ?"
      expect(await empty.query(`SELECT engine AS engine FROM information_schema.tables ${where}`, [table])).toEqual([
        { engine: "InnoDB" },
      ])
      const keys = `SELECT constraint_name AS name FROM information_schema.table_constraints ${where} AND constraint_type = 'PRIMARY KEY'`
      expect(await empty.query(keys, [table])).toHaveLength(1)
    }
    if (target !== "sqlite") {
      const rules =
        "SELECT table_name AS name, delete_rule AS rule FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() ORDER BY table_name"
      const found = await empty.query(rules)
      expect(found.map((row) => row.name)).toEqual(["accounts", "api_keys", "authenticators", "sessions"])
      for (const { rule } of found) expect(["NO ACTION", "RESTRICT"]).toContain(rule)
    }
  })

  test("one that a newer version applied is shown, and reverting it is refused", async () => {
    const name = "0099-future-0000000000099"
    await empty.query("INSERT INTO authwire_migrations (timestamp, name) VALUES (99, ?)", [name])
    expect(await migrationStatus(database)).toContainEqual({ name: "0099-future", applied: true, known: false })
    expect(await pendingMigrations(database)).toEqual([])
    await expect(revertLastMigration(database)).rejects.toThrow("0099-future")
    await empty.query("DELETE FROM authwire_migrations WHERE name = ?", [name])
  })

  test("are reverted one by one, down to nothing, and can be applied again", async () => {
    for (const name of [...names].reverse()) expect(await revertLastMigration(database)).toBe(name)
    expect(await revertLastMigration(database)).toBeUndefined()
    expect(await tablesThere()).toEqual([])
    expect(await applyMigrations(database)).toEqual(names)
  })

  test("one that fails leaves what it found", async () => {
    await revertTo("0004-verification-tokens")
    await empty.query("CREATE TABLE authenticators (a INTEGER PRIMARY KEY)")
    await expect(applyMigrations(database)).rejects.toThrow("authenticators")
    expect(await pendingMigrations(database)).toEqual(names.slice(4))
    await empty.query("DROP TABLE authenticators")
    expect(await applyMigrations(database)).toEqual(names.slice(4))
  })

  test("what was stored before there were tenants is the default tenant's, and comes back as it was", async () => {
    await revertTo("0005-authenticators")
    const tokenHash = createHash("sha256").update("s").digest()
    const expires = target === "sqlite" ? "2031-02-03 04:05:06.789" : new Date("2031-02-03T04:05:06.789Z")
    const insert = (table: string, row: Record<string, unknown>) =>
      empty.query(
        `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.keys(row).map(() => "?")})`,
        Object.values(row),
      )
    const user_id = "u"
    await insert("users", { id: user_id, email: "A@example.com", email_key: "a@example.com", extra: '{"role":"x"}' })
    await insert("accounts", {
      provider: "p",
      provider_account_id: "a",
      user_id,
      type: "oidc",
      access_token: "t",
      extra: '{"n":1}',
    })
    await insert("sessions", { token_hash: tokenHash, user_id, expires, extra: "{}" })
    await insert("verification_tokens", { identifier: "i", token: "v", expires })
    await insert("authenticators", {
      ...{ credential_id: "c", user_id, provider_account_id: "a", credential_public_key: "k", counter: 3 },
      ...{ credential_device_type: "singleDevice", credential_backed_up: 0, extra: "{}" },
    })
    const tables = ["users", "accounts", "sessions", "authenticators"]
    const all = () => Promise.all(tables.map((table) => empty.query(`SELECT * FROM ${table}`)))
    const before = await all()

    await applyMigrations(database)
    const store = await openSqlStore({ encryptionKeys, url: empty.url, clock: () => 0 })
    const user = { id: "u", email: "A@example.com", extra: { role: "x" } }
    expect(await store.users.getByEmail(anyone, "a@example.com")).toEqual(user)
    expect(await store.users.getByAccount(anyone, { provider: "p", providerAccountId: "a" })).toEqual(user)
    const account = {
      provider: "p",
      providerAccountId: "a",
      userId: "u",
      type: "oidc",
      access_token: "t",
      extra: { n: 1 },
    }
    expect(await store.accounts.get(anyone, { provider: "p", providerAccountId: "a" })).toEqual(account)
    const moment = new Date("2031-02-03T04:05:06.789Z")
    expect((await store.sessions.getWithUser(anyone, "s"))?.session).toMatchObject({ userId: "u", expires: moment })
    expect(await store.authenticators.get(anyone, "c")).toMatchObject({ userId: "u", counter: 3 })
    expect(await store.users.get({ tenant: "other" }, "u")).toBeNull()
    const token = { identifier: "i", token: "v" }
    expect(await store.verificationTokens.use({ tenant: "other" }, token)).toBeNull()
    expect(await store.verificationTokens.use(anyone, token)).toEqual({ ...token, expires: moment })
    await store.close()

    await revertTo("0005-authenticators")
    expect(await all()).toEqual(before)
    await applyMigrations(database)
    for (const table of tables.toReversed()) await empty.query(`DELETE FROM ${table}`)
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
  test("a database in memory is migrated by its own store", async () => {
    const store = await openSqlStore({ encryptionKeys, url: "sqlite::memory:" })
    expect(await applyMigrations(store.database)).toEqual(names)
    expect(await store.users.create(anyone, { id: "u", extra: {} })).toEqual({ id: "u", extra: {} })
    expect(await store.users.get(anyone, "u")).toEqual({ id: "u", extra: {} })
    await store.close()
  })
}
