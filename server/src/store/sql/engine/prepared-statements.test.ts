import {
  createDatabaseOn,
  describeServers,
  ownServers,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newAccount, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals"
import { type Database, openDatabase, openSqlStore, sqlStore } from "../index.js"

describeServers("prepared statements on %s", (target) => {
  let tables: TestDatabase
  let database: Database
  const user = newUser()
  const account = newAccount(user.id)

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    const store = sqlStore(database, { encryptionKeys })
    await store.users.create(anyone, user)
    await store.accounts.link(anyone, account)
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  const run = (statement: string) => database.reads({}).read(plainSql(statement), [])

  if (target === "postgres") {
    test("a statement is prepared once on each connection, and then only executed", async () => {
      const store = sqlStore(database, { encryptionKeys })
      // The pool's only connection: the one for the ping has not been used.
      const prepared = () =>
        run(`SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements
             WHERE statement LIKE 'SELECT "u"%"accounts" "a" INNER JOIN%' AND statement NOT LIKE '% IN %'`)
      await store.users.getByAccount(anyone, account)
      const [[text, before] = [], ...others] = await prepared()
      expect(others).toEqual([])
      for (const _ of range(10)) await store.users.getByAccount(anyone, account)
      expect(await prepared()).toEqual([[text, String(Number(before) + 10)]])
    })

    test("a plan that was made for a small table is not kept when it has grown", async () => {
      const empty = await createStoreDatabase(target)
      const own = await openDatabase({ url: empty.url, poolSize: 1 })
      const store = sqlStore(own, { encryptionKeys })
      // Disables autovacuum, so that only the store can drop the plan.
      await empty.query("ALTER TABLE users SET (autovacuum_enabled = off)")
      await store.users.create(anyone, user)
      await empty.query("ANALYZE users")
      /** Returns how often a lookup scans the whole table. */
      const wholeReads = async () => {
        const count = async () => {
          await own.reads({}).read(plainSql("SELECT pg_stat_force_next_flush()"), [])
          const [row] = await empty.query("SELECT seq_scan AS n FROM pg_stat_user_tables WHERE relname = 'users'")
          return Number(row?.n)
        }
        const before = await count()
        expect(await store.users.get(anyone, user.id)).toEqual(user)
        return (await count()) - before
      }
      expect(await wholeReads()).toBe(1)
      await empty.query(
        "INSERT INTO users (tenant, id, extra) SELECT 'default', 'u' || n, '{}' FROM generate_series(1, 5000) AS n",
      )
      const now = performance.now.bind(performance)
      const later = jest.spyOn(performance, "now").mockImplementation(() => now() + 11_000)
      const afterwards = await wholeReads()
      later.mockRestore()
      await own.close()
      await empty.drop()
      expect(afterwards).toBe(0)
    })
  }

  if (target !== "postgres") {
    test("a statement is prepared once on each connection, and then only executed", async () => {
      const store = sqlStore(database, { encryptionKeys })
      const count = async () => {
        const rows = await run(
          "SHOW SESSION STATUS WHERE Variable_name LIKE 'Com_stmt_%' OR Variable_name = 'Questions'",
        )
        return Object.fromEntries(rows.map(([name, value]) => [name, Number(value)]))
      }
      await store.users.getByAccount(anyone, account)
      await count()
      const before = await count()
      for (const _ of range(10)) await store.users.getByAccount(anyone, account)
      const after = await count()
      expect(after.Com_stmt_prepare).toBe(before.Com_stmt_prepare)
      // The query that counts is the eleventh.
      expect(after.Com_stmt_execute).toBe((before.Com_stmt_execute as number) + 11)
      expect(after.Questions).toBe((before.Questions as number) + 11)
    })
  }
})

describeServers(
  "too many prepared statements on %s",
  (target) => {
    test("a read that exceeds the limit of prepared statements is done on a new connection", async () => {
      const server = await startPrivateDatabase(target)
      if (server === null) throw new Error(`no ${target}`)
      const own = await createDatabaseOn(server)
      await migrate(own)
      await own.query("SET GLOBAL max_prepared_stmt_count = 10")
      const reader = await openSqlStore({ encryptionKeys, url: own.url, poolSize: 1 })
      try {
        for (let round = 0; round < 3; round++) {
          expect(await reader.users.get(anyone, "nobody")).toBeNull()
          expect(await reader.users.getByEmail(anyone, "nobody@example.com")).toBeNull()
          expect(await reader.users.getByAccount(anyone, { provider: "p", providerAccountId: "a" })).toBeNull()
          expect(await reader.users.count(anyone, {})).toBe(0)
          expect(await reader.users.count(anyone, { email: "nobody@example.com" })).toBe(0)
          expect((await reader.users.list(anyone, {}, { size: 1 })).items).toEqual([])
          expect(await reader.accounts.get(anyone, { provider: "p", providerAccountId: "a" })).toBeNull()
          expect(await reader.sessions.getWithUser(anyone, "t")).toBeNull()
          expect(await reader.sessions.get(anyone, "i")).toBeNull()
          expect((await reader.sessions.list(anyone, { userId: "nobody" }, { size: 1 })).items).toEqual([])
          expect(await reader.authenticators.get(anyone, "c")).toBeNull()
          expect(await reader.authenticators.listByUserId(anyone, "nobody")).toEqual([])
        }
      } finally {
        await reader.close()
        await server.remove()
      }
    })
  },
  ownServers().filter((engine) => engine !== "postgres"),
)
