import {
  hashOf,
  numbersTo,
  openPlanned,
  type PlannedDatabase,
  plannedTargets,
} from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"
import { firstTime } from "../../times.js"
import type { Page, PageRequest } from "../../types.js"
import { endedTokensBeyond } from "../ended-tokens.js"
import { newestSessions } from "../index.js"
import { along } from "../walks/along.js"
import { countedAtOnce } from "../walks/count.js"
import { examinedAtOnce } from "../walks/list.js"
import { rowsPerStatement } from "../walks/rows-at-once.js"
import { type AnyWalk, walks } from "../walks/walks.js"

/** The rows of each table, of each of two tenants. */
const count = 4_000

describe.each(plannedTargets())("walks on %s", (target) => {
  const many = { tenant: "many" }
  let planned: PlannedDatabase
  /** The walks that the statements of the tests have followed. */
  const followed = new Set<unknown>()
  const recordingStore = () => planned.recordingStore({ changes: false, eventsKeepMs: 1, auditKeepMs: 1 })

  beforeAll(async () => {
    planned = await openPlanned(target)
    const text = (prefix: string) => `CONCAT('${prefix}', n)`
    const time = (day: string) => `${target === "postgres" ? "timestamptz " : ""}'${day} 00:00:00.000'`
    const at = time("2026-01-01")
    const hash = hashOf(target, text(""))
    const half = (one: string, other: string) => `CASE WHEN n % 2 = 0 THEN ${one} ELSE ${other} END`
    const expired = half(time("1990-01-01"), time("2100-01-01"))
    // Of one user, whose id is the first, there are as many rows as of all others.
    const user = half("'u2'", text("u"))
    const rows: Record<string, [columns: string, values: string]> = {
      users: [
        "id, extra, email_key, name, name_key, created, last_seen_day, disabled, deleted",
        `${text("u")}, '{}', ${text("ada")}, ${text("Ada ")}, ${text("ada ")}, ${at}, ${at}, ${at},
        CASE WHEN n > 3990 THEN ${at} END`,
      ],
      accounts: [
        "provider, provider_account_id, user_id, type, extra",
        `${half("'p'", "'q'")}, ${text("a")}, ${user}, 'oauth', '{}'`,
      ],
      authenticators: [
        "credential_id, user_id, provider_account_id, credential_public_key, counter, credential_device_type, credential_backed_up, extra",
        `${text("c")}, ${user}, 'a', '', 0, '', true, '{}'`,
      ],
      sessions: [
        "token_hash, user_id, expires, extra, id, created, ip, impersonator",
        `${hash}, ${user}, ${expired}, '{}', ${text("s")}, ${at}, ${half("'ip'", "'other'")}, ${half("'staff'", "NULL")}`,
      ],
      verification_tokens: ["identifier, token_hash, expires", `${text("v")}, ${hash}, ${expired}`],
      idempotency_keys: ["key_hash, answer, created", `${hash}, '', ${expired}`],
      ended_tokens: ["key_hash, ended, expires", `${hash}, ${expired}, ${expired}`],
      caches: ["process, version, lease_ms, confirmed, expires", `${text("p")}, 1, 1, 1, ${expired}`],
      audit_entries: [
        "created, method, key_id, subject, details",
        `${at}, ${half("'often'", "'rare'")}, ${text("key ")}, ${half("'user'", text("user "))}, '{"code":"OK"}'`,
      ],
      api_keys: ["id, name, scopes, created", `CONCAT(tenant, n), 'n', '["all"]', ${at}`],
      webhooks: [
        "id, name, url, kinds, include_user, created, secrets, position, version, deliveries",
        `${text("w")}, 'n', 'u', '[]', false, ${at}, '', 1, 1, 1`,
      ],
      webhook_deliveries: [
        "webhook_id, number, kind, created, pending, attempts, expires",
        `'w1', n, 'user.updated', ${at}, n % 2 = 0, 0, ${expired}`,
      ],
      events: ["kind, user_id, created, sequence", `'user.updated', 'u', ${at}, n * 2`],
    }
    await planned.tables.query(
      `INSERT INTO tenants (name, created) SELECT ${text("t")}, ${at} FROM ${numbersTo(count)}`,
    )
    for (const tenant of ["many", "more"]) {
      for (const [table, [columns, values]] of Object.entries(rows))
        await planned.tables.query(`INSERT INTO ${table} (tenant, ${columns})
          SELECT tenant, ${values} FROM (SELECT '${tenant}' AS tenant, n FROM ${numbersTo(count)}) AS numbered`)
    }
    await planned.tables.query(
      `INSERT INTO event_head (tenant, sequence, history) SELECT name, ${3 * count}, 'A' FROM tenants`,
    )
    await planned.analyze("tenants", ...Object.keys(rows))
  })
  afterAll(() => planned.close())

  const since = new Date("2025-01-01")
  type Call = (store: Store, page: PageRequest) => Promise<unknown>
  const cleanup =
    (name: string): Call =>
    (store) =>
      (store.expired.tables.find(({ table }) => table === name) as Store["expired"]["tables"][0]).deleteBatch(
        {},
        { from: firstTime, before: new Date("2099-01-01"), limit: 5 },
      )
  const audit =
    (filter: object): Call =>
    (store, page) =>
      store.audit.list(many, filter, page)
  /** The rows that a page of a list of sessions of all users examines: a slice, and the users and policies of what it returns. */
  const slice = examinedAtOnce + 4 * rowsPerStatement

  /** A call, the walk that it follows, and the most rows that each statement examines. */
  const calls: [name: string, walk: AnyWalk, call: Call, most?: number][] = [
    ["users.list", walks.usersByCreation, (s, page) => s.users.list(many, {}, page)],
    ["users.list since a time", walks.usersByCreation, (s, page) => s.users.list(many, { createdSince: since }, page)],
    ["users.list, not disabled", walks.usersByCreation, (s, page) => s.users.list(many, { disabled: false }, page)],
    ["users.list by address", walks.usersByAddress, (s, page) => s.users.list(many, { emailPrefix: "ad" }, page)],
    ["users.list by name", walks.usersByName, (s, page) => s.users.list(many, { namePrefix: "ada " }, page)],
    ["users.list by last use", walks.usersByLastUse, (s, page) => s.users.list(many, { lastSeenSince: since }, page)],
    ["users.list, disabled", walks.disabledUsers, (s, page) => s.users.list(many, { disabled: true }, page)],
    [
      "users.list, the newest first",
      walks.usersByCreation,
      (s, page) => s.users.list(many, { newestFirst: true }, page),
    ],
    [
      "users.list by last use, the newest first",
      walks.usersByLastUse,
      (s, page) => s.users.list(many, { lastSeenSince: since, newestFirst: true }, page),
    ],
    [
      "users.list, disabled, the newest first",
      walks.disabledUsers,
      (s, page) => s.users.list(many, { disabled: true, newestFirst: true }, page),
    ],
    // For each account its user and the first account of that.
    [
      "users.list of a provider",
      walks.accountsOfProvider,
      (s, page) => s.users.list(many, { provider: "p" }, page),
      4 * rowsPerStatement,
    ],
    ["users.count", walks.usersByCreation, (s) => s.users.count(many, {}), countedAtOnce],
    ["users.count, deleted", walks.usersBeingDeleted, (s) => s.users.count(many, {}), countedAtOnce],
    ["the cleanup of deleted users", walks.usersBeingDeleted, cleanup("users")],
    [
      "accounts.listByUser",
      walks.accountsOfUser,
      (s, page) => s.accounts.listByUser(many, "u2", page, { tokens: false }),
    ],
    ["authenticators.list", walks.authenticatorsOfUser, (s, page) => s.authenticators.list(many, "u2", page)],
    [
      "sessions.list",
      walks.sessionsByCreation,
      (s, page) => s.sessions.list(many, { createdSince: since }, page),
      slice,
    ],
    [
      "sessions.list, impersonated",
      walks.sessionsByCreation,
      (s, page) => s.sessions.list(many, { impersonated: true }, page),
      slice,
    ],
    [
      "sessions.list of a user",
      walks.sessionsOfUser,
      (s, page) => s.sessions.list(many, { userId: "u2" }, page),
      slice,
    ],
    [
      "sessions.list, active ones of a user",
      walks.sessionsOfUser,
      (s, page) => s.sessions.list(many, { userId: "u2", active: true, createdSince: since }, page),
      2 * slice,
    ],
    [
      "sessions.list of an address",
      walks.sessionsOfAddress,
      (s, page) => s.sessions.list(many, { ip: "ip" }, page),
      slice,
    ],
    ["sessions.count", walks.sessionsByCreation, (s) => s.sessions.count(many, { active: false }), countedAtOnce],
    // Also the marks of the policies for each session.
    ["sessions.count, active", walks.sessionsByCreation, (s) => s.sessions.count(many, { active: true }), 2 * slice],
    ["newestSessions", walks.sessionsByCreation, () => newestSessions(planned.recording(), { ...many, limit: 5 })],
    ["the cleanup of sessions", walks.sessionsByExpiry, cleanup("sessions")],
    ["the cleanup of verification tokens", walks.verificationTokensByExpiry, cleanup("verification_tokens")],
    ["the cleanup of idempotency keys", walks.idempotencyKeysByCreation, cleanup("idempotency_keys")],
    ["the cleanup of ended tokens", walks.endedTokensByExpiry, cleanup("ended_tokens")],
    [
      "the cleanup of a tenant's ended tokens",
      walks.endedTokensOfTenant,
      () => endedTokensBeyond(planned.recording(), 3).deleteBatch({}, { from: firstTime, before: since, limit: 5 }),
    ],
    ["the cleanup of caches", walks.cachesByExpiry, cleanup("caches")],
    ["the cleanup of the audit", walks.auditEntriesByCreation, cleanup("audit_entries")],
    ["tenants.page", walks.tenantsByName, (s, page) => s.tenants.page(many, page)],
    ["apiKeys.page", walks.apiKeysOfTenant, (s, page) => s.apiKeys.page(many, page)],
    ["apiKeys.listValid", walks.apiKeysById, (s) => s.apiKeys.listValid({}, new Date(), "many1"), 2 * countedAtOnce],
    ["apiKeys.listChanges", walks.apiKeysByChange, (s) => s.apiKeys.listChanges({}, new Date("2100-01-01")), 1_000],
    ["audit.list", walks.auditEntriesOfTenant, audit({})],
    ["audit.list of a time", walks.auditEntriesOfTenant, audit({ since, before: new Date("2026-02-01") })],
    ["audit.list of a user", walks.auditEntriesOfSubject, audit({ subject: "user" })],
    ["audit.list of a user and a time", walks.auditEntriesOfSubject, audit({ subject: "user", since })],
    ["audit.list of a key", walks.auditEntriesOfKey, audit({ keyId: "key 4" })],
    ["audit.list of a method", walks.auditEntriesOfMethod, audit({ method: "often", since })],
    ["webhooks.page", walks.webhooksOfTenant, (s, page) => s.webhooks.page(many, page)],
    ["webhooks.active", walks.webhooksByTenant, (s) => s.webhooks.active({}), 500],
    [
      "webhooks.deliveries",
      walks.deliveriesOfWebhook,
      (s, page) => s.webhooks.deliveries(many, { webhookId: "w1" }, page),
    ],
    [
      "webhooks.deliveries, pending ones",
      walks.deliveriesByState,
      (s, page) => s.webhooks.deliveries(many, { webhookId: "w1", pending: true }, page),
    ],
    ["webhooks.pending", walks.deliveriesByState, (s) => s.webhooks.pending(many, "w1"), 1_000],
    ["the cleanup of deliveries of webhooks", walks.deliveriesByExpiry, cleanup("webhook_deliveries")],
    ["events.read", walks.eventsOfTenant, (s) => s.events.read(many, { after: 100, limit: 5 })],
    ["the cleanup of events", walks.eventsOfTenant, cleanup("events")],
  ]

  test.each(calls)(
    "S-23: %s follows its walk, and examines no more",
    async (_, walk, call, most = rowsPerStatement) => {
      let token: string | undefined
      for (let page = 1; page <= 2; page++) {
        planned.recorded.length = 0
        token = ((await call(recordingStore(), { size: 5, token })) as Page<unknown> | null)?.nextToken
        const along = planned.recorded.filter(([, , declared]) => declared !== undefined)
        expect(along.map(([, , declared]) => declared?.walk)).toContain(walk)
        followed.add(walk)
        for (const ran of along) {
          expect(await planned.plans.departure(ran)).toBeUndefined()
          // The first one, or one that another statement of this connection reads, beside what the walk has.
          expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(most + 6)
          // SQLite does not report what it examines. Its plan says whether the statement begins, or ends, within the index.
          if (target === "sqlite" && / [<>]/.test(ran[0])) expect(await planned.plans.text(ran)).toMatch(/[<>]/)
        }
        if (token === undefined) break
      }
    },
  )

  test("S-23: counts read in slices, and count each row once", async () => {
    const crowd = { tenant: "crowd" }
    await planned.tables.query(`INSERT INTO users (tenant, id, extra, created)
      SELECT 'crowd', CONCAT('u', n), '{}', '2026-01-01 00:00:00.000' FROM ${numbersTo(11_200)}`)
    await planned.analyze("users")
    const { users, sessions } = recordingStore()
    for (const [counting, counted, statements] of [
      // Two for each slice, except the whole ones, and one for the users that are being deleted.
      [() => users.count(crowd, {}), 11_200, 5],
      [() => sessions.count(many, { active: false }), count, 2],
      // The policy, which says what is active, is read first.
      [() => sessions.count(many, { active: true }), count / 2, 11],
    ] as const) {
      planned.recorded.length = 0
      expect(await counting()).toBe(counted)
      expect(planned.recorded).toHaveLength(statements)
    }
  })

  test("S-23: a list whose filter matches nothing ends a page after some slices", async () => {
    let [found, pages] = [0, 0]
    let token: string | undefined
    do {
      planned.recorded.length = 0
      const filter = { impersonated: true as const, createdSince: new Date("2027-01-01") }
      const page = await recordingStore().sessions.list(many, filter, { size: 5, token })
      for (const ran of planned.recorded)
        expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(examinedAtOnce + 5)
      found += page.items.length
      token = page.nextToken
      pages++
    } while (token !== undefined)
    expect([found, pages]).toEqual([0, 1])
  })

  test("every walk is followed by one of these calls", () => {
    expect(Object.entries(walks).filter(([, walk]) => !followed.has(walk))).toEqual([])
  })

  test("a statement that does not follow the walk that it declares is reported", async () => {
    const [sql, cells] = await ranOf(walks.sessionsOfUser)
    const departure = (ran: Ran) => planned.plans.departure(ran)
    expect(await departure([sql, cells, { alias: "s", walk: walks.sessionsOfUser }])).toBeUndefined()
    expect(await departure([sql, cells, { alias: "s", walk: walks.sessionsOfAddress }])).toMatch(
      /^not along sessions_ip/,
    )
    const sorted = sql.replace(/ ORDER BY .*/, " ORDER BY 4 LIMIT 5")
    expect(await departure([sorted, cells, { alias: "s", walk: walks.sessionsOfUser }])).toMatch(/^not along/)
  })

  test("a walk that its index does not serve is refused when the store opens", () => {
    const options = { alias: "s", select: "s.id" }
    const other = { ...walks.sessionsOfUser, order: ["id"] } as const
    expect(() => along(planned.database, other, options)).toThrow("does not begin with tenant, userId, id")
  })

  /** Returns a statement along a walk of sessions with its cells. */
  async function ranOf(walk: typeof walks.sessionsOfUser): Promise<[string, Ran[1]]> {
    const columns = "s.created, s.id, s.userId, s.expires"
    const statement = along(planned.database, walk, { alias: "s", select: columns, limit: 5 })
    return [statement.sql, statement.cells({ of: { ...many, userId: "u2" } })]
  }
})
