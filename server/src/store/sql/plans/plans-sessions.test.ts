import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { type Plans, plansOf, type Ran } from "@authwire/test-support/databases/plans.js"
import { recordingDatabase } from "@authwire/test-support/databases/recording-database.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { encryptionKeys, newSession, newUser, range } from "../../conformance/context.js"
import type { StoreDatabase } from "../../conformance.js"
import type { Store } from "../../store.js"
import { type Database, openDatabase, sqlStore } from "../index.js"
import { rowsPerStatement } from "../query/page.js"

describe.each(databaseTargets())("plans of the lists and revocations of sessions on %s", (target) => {
  const many = { tenant: "many" }
  let tables: StoreDatabase & { url: string; query(sql: string): Promise<unknown> }
  let database: Database
  let plans: Plans
  let id: string
  const recorded: Ran[] = []

  /** Opens a store that records every statement that it runs. */
  const recordingStore = () => sqlStore(recordingDatabase(database, recorded, { changes: false }), { encryptionKeys })

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    plans = plansOf(target, database)
    const store = sqlStore(database, { encryptionKeys })
    for (const n of range(300)) {
      await store.users.create(many, newUser({ id: `${n}` }))
      await store.sessions.create(many, newSession(`${n}`, Date.now() + 86_400_000), { provider: "p" })
    }
    for (const _ of range(40)) {
      const created = await store.sessions.create(many, newSession("0", Date.now() + 86_400_000), { provider: "p" })
      id = created.id as string
    }
    // One user has thousands of sessions, in addition to the others.
    await store.users.create(many, newUser({ id: "many" }))
    const hash = {
      mysql: "UNHEX(SHA2(CONCAT(u.id, '-', v.id), 256))",
      mariadb: "UNHEX(SHA2(CONCAT(u.id, '-', v.id), 256))",
      postgres: "sha256((u.id || '-' || v.id)::bytea)",
      sqlite: "randomblob(32)",
    }[target]
    const handle = target === "mysql" || target === "mariadb" ? "CONCAT(u.id, '-', v.id)" : "u.id || '-' || v.id"
    await tables.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id, created)
      SELECT 'many', ${hash}, 'many', '2100-01-01 00:00:00.000', '{}', ${handle}, u.created
      FROM users u JOIN users v ON v.tenant = u.tenant WHERE u.tenant = 'many' AND v.id LIKE '1_'`)
    if (target === "postgres") {
      // PostgreSQL scans a small table, whatever indexes there are.
      await tables.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
        SELECT 'many', sha256(n::text::bytea), (n % 300)::text, now(), '{}' FROM generate_series(1, 30000) n`)
      await tables.query(`INSERT INTO users (tenant, id, extra)
        SELECT 'more', n::text, '{}' FROM generate_series(1, 2000) n`)
    }
    if (target !== "sqlite")
      await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} sessions, users`)
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  /** Returns the number of index entries or rows that a statement reads. */
  async function rowsRead([statement, cells]: Ran): Promise<number> {
    if (target === "postgres") {
      const plan = await plans.text([statement, cells], "EXPLAIN (ANALYZE, TIMING OFF)")
      const counts = [...plan.matchAll(/actual rows=(\d+)|Rows Removed by [\w ]+: (\d+)/g)]
      return Math.max(...counts.map(([, rows, removed]) => Number(rows ?? removed)))
    }
    // All on one connection, because the server counts by session.
    return database.transaction({}, [], async (sql) => {
      const read = async () => {
        const reads = await sql.read(plainSql("SHOW SESSION STATUS LIKE 'Handler_read_%'"), [])
        const counted = reads.filter(([name]) => /_(first|key|last|next|prev)$/.test(String(name)))
        return counted.reduce((sum, [, count]) => sum + Number(count), 0)
      }
      const before = await read()
      await sql.read(plainSql(statement), cells)
      return (await read()) - before
    })
  }

  const now = Date.now()
  test.each<[string, (store: Store) => Promise<unknown>, string, number?]>([
    ["list", (store) => store.sessions.list(many, { userId: "0" }, { size: 5 }), "sessions_user_id"],
    [
      "list, filtered",
      (store) =>
        store.sessions.list(
          many,
          { userId: "0", active: true, provider: "p", createdSince: new Date(now - 86_400_000) },
          { size: 5 },
        ),
      "sessions_user_id",
    ],
    ["get", (store) => store.sessions.get(many, id), "sessions_id"],
    // On SQLite no transaction can be committed after EXPLAIN of a write.
    ["revokeOfUsers", (store) => store.sessions.revokeOfUsers(many, ["0", "1"]), "sessions_user_id", 3],
    ["revokeOfUser", (store) => store.sessions.revokeOfUser(many, "0", {}), "sessions_user_id", 2],
    ["revokeOfUser but one", (store) => store.sessions.revokeOfUser(many, "0", { id }), "sessions_user_id", 2],
    [
      "revokeOfUser except one session by its token",
      (store) => store.sessions.revokeOfUser(many, "0", { sessionToken: "t" }),
      "sessions_user_id",
      2,
    ],
    ["revokeOfUser of many", (store) => store.sessions.revokeOfUser(many, "many", { id }), "sessions_user_id", 3],
  ])("%s finds its rows by an index, in their order", async (_, call, index, statements = 1) => {
    recorded.length = 0
    await call(recordingStore())
    expect(recorded).toHaveLength(statements)
    for (const statement of recorded) {
      const plan = await plans.text(statement)
      expect(plan).toMatch(new RegExp(`\\b${index}\\b`))
      expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|SCAN|\bALL\b|,index,/)
    }
  })

  test("a page of a user with very many sessions reads no more than one of a user with few", async () => {
    // SQLite does not report how many rows it has read; its plan, tested above, shows the same.
    if (target === "sqlite") return
    let token: string | undefined
    for (let page = 1; page <= 2; page++) {
      recorded.length = 0
      token = (await recordingStore().sessions.list(many, { userId: "many" }, { size: 5, token })).nextToken
      // One more, and the row of the user.
      expect(await rowsRead(recorded[0] as Ran)).toBeLessThanOrEqual(rowsPerStatement + 2)
    }
  })
})
