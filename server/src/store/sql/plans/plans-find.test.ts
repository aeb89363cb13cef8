import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import {
  hashOf,
  numbersTo,
  openPlanned,
  type PlannedDatabase,
} from "@authwire/test-support/databases/planned-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"
import type { Page, PageRequest } from "../../types.js"
import { countedAtOnce } from "../walks/count.js"
import { examinedAtOnce, rowsPerStatement } from "../walks/list.js"

const count = 4_000

describe.each(databaseTargets())("plans of finding on %s", (target) => {
  const many = { tenant: "many" }
  let planned: PlannedDatabase
  const recordingStore = () => planned.recordingStore({ changes: false })

  beforeAll(async () => {
    planned = await openPlanned(target)
    const text = (prefix: string) => `CONCAT('${prefix}', n)`
    const numbers = `FROM ${numbersTo(count)}`
    const at = "'2026-01-01 00:00:00.000'"
    for (const tenant of ["many", "more"]) {
      await planned.tables.query(`INSERT INTO users (tenant, id, extra, email_key, name, name_key, created, last_seen_day, disabled)
        SELECT '${tenant}', ${text("u")}, '{}', ${text("ada")}, ${text("Ada ")}, ${text("ada ")}, ${at}, ${at}, ${at} ${numbers}`)
      await planned.tables.query(`INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, extra)
        SELECT '${tenant}', CASE WHEN n % 2 = 0 THEN 'p' ELSE 'q' END, ${text("a")}, ${text("u")}, 'oauth', '{}' ${numbers}`)
      await planned.tables.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id, created, ip, impersonator)
        SELECT '${tenant}', ${hashOf(target, text(""))}, ${text("u")}, '2100-01-01 00:00:00.000',
        '{}', ${text("s")}, ${at}, CASE WHEN n % 2 = 0 THEN 'ip' ELSE 'other' END, CASE WHEN n % 2 = 0 THEN 'staff' END
        ${numbers}`)
    }
    await planned.analyze("users", "accounts", "sessions")
  })
  afterAll(() => planned.close())

  const since = new Date("2025-01-01")
  const lists: [string, string, (store: Store, page: PageRequest) => Promise<Page<unknown>>, number][] = [
    ["users by creation", "users_created", (s, page) => s.users.list(many, { createdSince: since }, page), 0],
    ["users by address", "users_email_key", (s, page) => s.users.list(many, { emailPrefix: "ad" }, page), 0],
    ["users by name", "users_name_key", (s, page) => s.users.list(many, { namePrefix: "ada " }, page), 0],
    ["users by last use", "users_last_seen_day", (s, page) => s.users.list(many, { lastSeenSince: since }, page), 0],
    ["disabled users", "users_disabled", (s, page) => s.users.list(many, { disabled: true }, page), 0],
    ["users who are not disabled", "users_created", (s, page) => s.users.list(many, { disabled: false }, page), 0],
    ["users by provider", "PRIMARY", (s, page) => s.users.list(many, { provider: "p" }, page), 0],
    ["sessions", "sessions_created", (s, page) => s.sessions.list(many, { createdSince: since }, page), examinedAtOnce],
    ["sessions by address", "sessions_ip", (s, page) => s.sessions.list(many, { ip: "ip" }, page), examinedAtOnce],
    [
      "sessions by impersonation",
      "sessions_created",
      (s, page) => s.sessions.list(many, { impersonated: true, createdSince: since }, page),
      examinedAtOnce,
    ],
  ]

  test.each(lists)("%s are read by an index, in its order", async (_, index, list) => {
    let token: string | undefined
    for (let page = 1; page <= 2; page++) {
      planned.recorded.length = 0
      token = (await list(recordingStore(), { size: 5, token })).nextToken
      expect(token).toBeDefined()
      for (const ran of planned.recorded) {
        const plan = await planned.plans.text(ran)
        expect((await planned.plans.of(ran))[0]?.key).toBe(index)
        expect(plan).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|SCAN|\bALL\b|,index,/)
      }
    }
  })

  // A statement of a page of users reads three rows for each of them at most: those of the account, of the user and of the
  // first account. The first statement of a page of sessions finds the end of a slice.
  test.each(lists)("S-23: a page of %s examines no more than its users, or a slice", async (_, __, list, slice) => {
    let token: string | undefined
    for (let page = 1; page <= 2; page++) {
      planned.recorded.length = 0
      token = (await list(recordingStore(), { size: 5, token })).nextToken
      for (const ran of planned.recorded) {
        expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(slice + 4 * rowsPerStatement)
      }
    }
  })

  test("S-23: counts of sessions read the index of their creation, in slices, and count each once", async () => {
    for (const [active, created, slice] of [
      [false, 4_000, countedAtOnce],
      // Also the mark of the provider for each session.
      [true, 4_000, 2 * examinedAtOnce],
    ] as const) {
      planned.recorded.length = 0
      expect(await recordingStore().sessions.count(many, { active })).toBe(created)
      // The policy, which says what is active, is read first.
      const counted = active ? planned.recorded.slice(1) : planned.recorded
      expect(counted).toHaveLength(active ? 10 : 2)
      for (const ran of counted) {
        expect((await planned.plans.of(ran))[0]?.key).toBe("sessions_created")
        expect(await planned.plans.text(ran)).not.toMatch(/filesort|TEMP B-TREE|Sort|Seq Scan|\bALL\b|,index,/)
        expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(slice + 10)
      }
    }
  })

  test("S-23: a page examines no more of the impersonated sessions that are too old", async () => {
    let found = 0
    let token: string | undefined
    const filter = { impersonated: true as const, createdSince: new Date("2027-01-01") }
    do {
      planned.recorded.length = 0
      const page = await recordingStore().sessions.list(many, filter, { size: 5, token })
      for (const ran of planned.recorded)
        expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(examinedAtOnce + 5)
      found += page.items.length
      token = page.nextToken
    } while (token !== undefined)
    expect(found).toBe(0)
  })
})
