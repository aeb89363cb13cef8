import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { type Plans, plansOf, type Ran } from "@authwire/test-support/databases/plans.js"
import { recordingDatabase } from "@authwire/test-support/databases/recording-database.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { encryptionKeys, newSession, newUser, range } from "../../conformance/context.js"
import type { StoreDatabase } from "../../conformance.js"
import type { Store } from "../../store.js"
import { type Database, newestSessions, openDatabase, sqlStore } from "../index.js"
import { examinedAtOnce, rowsPerStatement } from "../query/page.js"

describe.each(databaseTargets())("plans of the lists and revocations of sessions on %s", (target) => {
  const many = { tenant: "many" }
  let tables: StoreDatabase & { url: string; query(sql: string): Promise<unknown> }
  let database: Database
  let plans: Plans
  let id: string
  const recorded: Ran[] = []
  const revoking: Ran[] = []

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
    // Two users have thousands of sessions, all of one time. Those of the second one are revoked.
    for (const id of ["many", "gone"]) await store.users.create(many, newUser({ id }))
    const hash = {
      mysql: "UNHEX(SHA2(CONCAT(u.id, '-', v.id), 256))",
      mariadb: "UNHEX(SHA2(CONCAT(u.id, '-', v.id), 256))",
      postgres: "sha256((u.id || '-' || v.id)::bytea)",
      sqlite: "randomblob(32)",
    }[target]
    const handle = target === "mysql" || target === "mariadb" ? "CONCAT(u.id, '-', v.id)" : "u.id || '-' || v.id"
    for (const [user, some] of [
      ["many", "u.id LIKE '2%' AND v.id LIKE '1__'"],
      ["gone", "u.id < 'a' AND v.id LIKE '1_'"],
    ])
      await tables.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id, created)
        SELECT 'many', ${hash}, '${user}', '2100-01-01 00:00:00.000', '{}', ${handle}, '2026-01-01 00:00:00.000'
        FROM users u JOIN users v ON v.tenant = u.tenant WHERE u.tenant = 'many' AND (${some})`)
    await tables.query("UPDATE sessions SET provider = 'last' WHERE user_id = 'many' AND id = '2-100'")
    const revokes = sqlStore(recordingDatabase(database, revoking, { changes: true }), { encryptionKeys })
    expect(await revokes.sessions.revokeOfUser(many, "gone", {})).toBe(3_000)
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
      "sessions_user_id|session_policies|PRIMARY",
      3,
    ],
    ["get", (store) => store.sessions.get(many, id), "sessions_id"],
    ["revokeOfUsers", (store) => store.sessions.revokeOfUsers(many, ["0", "1"]), "sessions_user_id", 3],
    ["revokeOfUser", (store) => store.sessions.revokeOfUser(many, "0", {}), "sessions_user_id", 2],
    ["revokeOfUser but one", (store) => store.sessions.revokeOfUser(many, "0", { id }), "sessions_user_id", 2],
    [
      "revokeOfUser except one session by its token",
      (store) => store.sessions.revokeOfUser(many, "0", { sessionToken: "t" }),
      "sessions_user_id",
      2,
    ],
  ])("%s finds its rows by an index, in their order", async (_, call, index, statements = 1) => {
    recorded.length = 0
    await call(recordingStore())
    expect(recorded).toHaveLength(statements)
    for (const statement of recorded) {
      const plan = await plans.text(statement)
      // The policy of the tenant, which has none.
      if (/no matching row in const table|Impossible WHERE noticed/.test(plan)) continue
      expect(plan).toMatch(new RegExp(`\\b${index}\\b`))
      expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|SCAN|\bALL\b|,index,/)
    }
  })

  test("a page of a user with very many sessions reads no more than one of a user with few", async () => {
    let token: string | undefined
    for (let page = 1; page <= 2; page++) {
      recorded.length = 0
      token = (await recordingStore().sessions.list(many, { userId: "many" }, { size: 5, token })).nextToken
      // One more, and the rows of the user and of policies.
      expect((await plans.rowsExamined(recorded[0] as Ran)) ?? 0).toBeLessThanOrEqual(5 * rowsPerStatement)
    }
  })

  test.each([
    [{ active: false }, 0],
    [{ provider: "last" }, 1],
    [{ active: false, provider: "last" }, 0],
  ])(
    "S-23: no statement of a list with %j examines more than a slice, even if nothing else matches and all are of one time",
    async (filter, count) => {
      let found = 0
      let token: string | undefined
      let pages = 0
      do {
        recorded.length = 0
        const page = await recordingStore().sessions.list(many, { userId: "many", ...filter }, { size: 5, token })
        found += page.items.length
        for (const ran of recorded.filter(([sql]) => sql.includes("created")).filter((_, n) => n % 7 < 2)) {
          expect((await plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(2 * examinedAtOnce + 10)
          // SQLite does not report what it examines. The plan has both ends of the range, and the first statement its OFFSET.
          if (target === "sqlite") expect(await plans.text(ran)).toMatch(/created(,id)?\)?>.*created,id\)</)
        }
        token = page.nextToken
        pages++
      } while (token !== undefined)
      // 11,100 sessions, of which a page examines 10,000.
      expect([pages, found]).toEqual([2, count])
    },
  )

  test("the newest sessions of a tenant are read by an index, in its order", async () => {
    recorded.length = 0
    const reading = recordingDatabase(database, recorded, { changes: false })
    expect(await newestSessions(reading, { tenant: "many", limit: 100 })).toHaveLength(100)
    const [ran] = recorded as [Ran]
    const plan = await plans.text(ran)
    expect(plan).toMatch(/\bsessions_created\b/)
    expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan/)
    expect((await plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(101)
  })

  describe("session policies", () => {
    const writing = () => sqlStore(recordingDatabase(database, recorded, { changes: true }), { encryptionKeys })

    test("create counts the sessions of the user by the index, in their order", async () => {
      const { sessionPolicies, sessions } = writing()
      await sessionPolicies.update(many, { maxSessions: 20, atLimit: "reject_new" })
      recorded.length = 0
      const created = sessions.create(many, newSession("0", now + 86_400_000))
      await expect(created).rejects.toMatchObject({ reason: "SESSION_LIMIT_REACHED" })
      // The first try writes the user and the session.
      expect(recorded).toHaveLength(6)
      const [policy, user, tooMany, count] = recorded.slice(2) as [Ran, Ran, Ran, Ran]
      await sessionPolicies.update(many, { maxSessions: null })
      for (const [ran, key] of [
        [policy, /PRIMARY|session_policies_pkey|sqlite_autoindex_session_policies_1/],
        [user, /PRIMARY|users_pkey|sqlite_autoindex_users_1/],
        [tooMany, /sessions_user_id/],
        [count, /sessions_user_id/],
      ] as const) {
        const plan = await plans.text(ran)
        expect(plan).toMatch(key)
        expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort/)
      }
      expect((await plans.rowsExamined(count)) ?? 0).toBeLessThanOrEqual(100)
    })

    test.each([undefined, "p"])(
      "the cleanup after revokeAll of provider %s examines a slice, by the key",
      async (provider) => {
        const { sessions, expired } = writing()
        await sessions.revokeAll(many, { provider })
        recorded.length = 0
        const [, revoked] = expired.tables.filter(({ table }) => table === "sessions")
        const span = { from: new Date(0), before: new Date(Date.now() + 60_000), limit: 2_000 }
        expect(await revoked?.deleteBatch({}, span)).toMatchObject({ more: true })
        const [next, end, slice, remove] = recorded as [Ran, Ran, Ran, Ran]
        if (target !== "postgres") expect(await plans.text(next)).toMatch(/session_policies_revoking/)
        for (const [select, marks] of [
          [end, 0],
          [slice, 2],
        ] as const) {
          const [first, ...others] = await plans.of(select)
          expect([first, others]).toMatchObject([{ table: "s", key: "PRIMARY" }, Array(marks).fill({ key: "PRIMARY" })])
          expect(await plans.sortsRows(select)).toBe(false)
          expect((await plans.rowsExamined(select)) ?? 0).toBeLessThanOrEqual(1_005 * (1 + marks))
        }
        expect((await plans.of(remove))[0]?.key).toBe("PRIMARY")
      },
    )
  })

  test("revokeOfUser deletes the sessions of a user with very many in batches that it finds by an index", async () => {
    // Three batches, each with the statement that finds its end.
    expect(revoking).toHaveLength(6)
    for (const ran of revoking.slice(0, 2)) {
      const plan = await plans.text(ran)
      expect(plan).toMatch(/\bsessions_user_id\b/)
      expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|SCAN|\bALL\b|,index,/)
    }
  })
})
