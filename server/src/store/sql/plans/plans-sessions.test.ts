import {
  hashOf,
  numbersTo,
  openPlanned,
  type PlannedDatabase,
  plannedTargets,
} from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import { encryptionKeys, newSession } from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"
import { bulk, newestSessions } from "../index.js"
import { examinedAtOnce } from "../walks/list.js"
import { rowsPerStatement } from "../walks/rows-at-once.js"

describe.each(plannedTargets())("plans of the lists and revocations of sessions on %s", (target) => {
  const many = { tenant: "many" }
  let planned: PlannedDatabase
  const id = "own 340"
  const revoking: Ran[] = []

  const recordingStore = () => planned.recordingStore({ changes: false })

  beforeAll(async () => {
    planned = await openPlanned(target)
    const insert = "INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id, created"
    // 300 users with a session, of whom the first one has 41. Two more have thousands of sessions, all of one time.
    await planned.tables.query(`INSERT INTO users (tenant, id, extra)
      SELECT 'many', CONCAT('', n - 1), '{}' FROM ${numbersTo(300)} UNION ALL SELECT 'many', 'many', '{}'
      UNION ALL SELECT 'many', 'gone', '{}'`)
    await planned.tables.query(`${insert}, provider)
      SELECT 'many', ${hashOf(target, "CONCAT('own ', n)")}, CASE WHEN n <= 300 THEN CONCAT('', n - 1) ELSE '0' END,
      '2100-01-01 00:00:00.000', '{}', CONCAT('own ', n), '2025-01-01 00:00:00.000', 'p' FROM ${numbersTo(340)}`)
    // Those of the second one are revoked.
    const handle = "CONCAT(u.id, '-', v.id)"
    for (const [user, some] of [
      ["many", "u.id LIKE '2%' AND v.id LIKE '1__'"],
      ["gone", "u.id < 'a' AND v.id LIKE '1_'"],
    ])
      await planned.tables.query(`${insert})
        SELECT 'many', ${hashOf(target, handle)}, '${user}', '2100-01-01 00:00:00.000', '{}', ${handle}, '2026-01-01 00:00:00.000'
        FROM users u JOIN users v ON v.tenant = u.tenant WHERE u.tenant = 'many' AND (${some})`)
    await planned.tables.query("UPDATE sessions SET provider = 'last' WHERE user_id = 'many' AND id = '2-100'")
    const revokes = planned.recordingStore()
    expect(await revokes.sessions.revokeOfUser(many, "gone", {})).toBe(3_000)
    revoking.push(...planned.recorded)
    if (target === "postgres") {
      // PostgreSQL scans a small table, whatever indexes there are.
      await planned.tables.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
        SELECT 'many', sha256(n::text::bytea), (1 + n % 299)::text, now(), '{}' FROM generate_series(1, 30000) n`)
      await planned.tables.query(`INSERT INTO users (tenant, id, extra)
        SELECT 'more', n::text, '{}' FROM generate_series(1, 2000) n`)
    }
    await planned.analyze("sessions", "users")
  })
  afterAll(() => planned.close())

  const now = Date.now()
  test.each<[string, (store: Store) => Promise<unknown>, string, number?]>([
    ["list", (store) => store.sessions.list(many, { userId: "0" }, { size: 5 }), "sessions_user_id", 2],
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
    ["revokeOfUser", (store) => store.sessions.revokeOfUser(many, "0", {}), "sessions_user_id", 2],
    ["revokeOfUser but one", (store) => store.sessions.revokeOfUser(many, "0", { id }), "sessions_user_id", 2],
    [
      "revokeOfUser except one session by its token",
      (store) => store.sessions.revokeOfUser(many, "0", { sessionToken: "t" }),
      "sessions_user_id",
      2,
    ],
  ])("%s finds its rows by an index, in their order", async (_, call, index, statements = 1) => {
    planned.recorded.length = 0
    await call(recordingStore())
    expect(planned.recorded).toHaveLength(statements)
    for (const statement of planned.recorded) {
      const plan = await planned.plans.text(statement)
      // The policy of the tenant, which has none.
      if (/no matching row in const table|Impossible WHERE noticed/.test(plan)) continue
      expect(plan).toMatch(new RegExp(`\\b${index}\\b`))
      expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|SCAN|\bALL\b|,index,/)
    }
  })

  test("a page of a user with very many sessions reads no more than one of a user with few", async () => {
    let token: string | undefined
    for (let page = 1; page <= 2; page++) {
      planned.recorded.length = 0
      token = (await recordingStore().sessions.list(many, { userId: "many" }, { size: 5, token })).nextToken
      // One more, and the rows of the user and of policies.
      expect((await planned.plans.rowsExamined(planned.recorded[0] as Ran)) ?? 0).toBeLessThanOrEqual(
        5 * rowsPerStatement,
      )
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
        planned.recorded.length = 0
        const page = await recordingStore().sessions.list(many, { userId: "many", ...filter }, { size: 5, token })
        found += page.items.length
        for (const ran of planned.recorded.filter(([sql]) => sql.includes("created")).filter((_, n) => n % 7 < 2)) {
          expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(2 * examinedAtOnce + 10)
          // SQLite does not report what it examines. The plan has both ends of the range, and the first statement its OFFSET.
          if (target === "sqlite") expect(await planned.plans.text(ran)).toMatch(/created(,id)?\)?>.*created,id\)</)
        }
        token = page.nextToken
        pages++
      } while (token !== undefined)
      // 11,100 sessions, of which a page examines 10,000.
      expect([pages, found]).toEqual([2, count])
    },
  )

  test("the newest sessions of a tenant are read by an index, in its order", async () => {
    planned.recorded.length = 0
    const reading = planned.recording()
    expect(await newestSessions(reading, { tenant: "many", limit: 100 })).toHaveLength(100)
    const [ran] = planned.recorded as [Ran]
    const plan = await planned.plans.text(ran)
    expect(plan).toMatch(/\bsessions_created\b/)
    expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan/)
    expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(101)
  })

  describe("session policies", () => {
    const writing = () => planned.recordingStore()

    test("create counts the sessions of the user by the index, in their order", async () => {
      const { sessionPolicies, sessions } = writing()
      await sessionPolicies.update(many, { maxSessions: 20, atLimit: "reject_new" })
      planned.recorded.length = 0
      const created = sessions.create(many, newSession("0", now + 86_400_000))
      await expect(created).rejects.toMatchObject({ reason: "SESSION_LIMIT_REACHED" })
      // The first try writes the user and the session, and runs again by itself.
      expect(planned.recorded.length).toBeLessThanOrEqual(8)
      const [policy, user, tooMany, count] = planned.recorded.slice(-4) as [Ran, Ran, Ran, Ran]
      await sessionPolicies.update(many, { maxSessions: null })
      for (const [ran, key] of [
        [policy, /PRIMARY|session_policies_pkey|sqlite_autoindex_session_policies_1/],
        [user, /PRIMARY|users_pkey|sqlite_autoindex_users_1/],
        [tooMany, /sessions_user_id/],
        [count, /sessions_user_id/],
      ] as const) {
        const plan = await planned.plans.text(ran)
        expect(plan).toMatch(key)
        expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort/)
      }
      expect((await planned.plans.rowsExamined(count)) ?? 0).toBeLessThanOrEqual(100)
    })

    test("an export reads the sessions by the key, in its order, without those that revokeAll has ended", async () => {
      await writing().sessions.revokeAll(many, { provider: "last" })
      const { sessions } = bulk(planned.database, { tenant: "many", encryptionKeys })
      planned.recorded.length = 0
      const exported = bulk(planned.recording(), { tenant: "many", encryptionKeys, withoutRevoked: true }).sessions
      let count = 0
      for await (const rows of exported.pages()) count += rows.length
      expect(await exported.count()).toBe(count)
      expect(await sessions.count()).toBe(count + 1)
      const [first, next] = planned.recorded as [Ran, Ran]
      for (const page of [first, next]) {
        expect((await planned.plans.of(page))[0]).toMatchObject({ table: "t", key: "PRIMARY" })
        expect(await planned.plans.sortsRows(page)).toBe(false)
      }
    })
  })

  test("revokeOfUser deletes the sessions of a user with very many in batches that it finds by an index", async () => {
    // Thirty batches, each with the statement that finds its end. Another one finds none, and the last deletes the rest.
    expect(revoking).toHaveLength(62)
    for (const ran of revoking.slice(0, 2)) {
      const plan = await planned.plans.text(ran)
      expect(plan).toMatch(/\bsessions_user_id\b/)
      expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|SCAN|\bALL\b|,index,/)
    }
  })
})
