import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { numbersTo, openPlanned, type PlannedDatabase } from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import {
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"
import type { Page, PageRequest } from "../../types.js"
import { sqlStore } from "../index.js"
import { countedAtOnce } from "../walks/count.js"
import { rowsPerStatement } from "../walks/list.js"

describe.each(databaseTargets())("plans of lists on %s", (target) => {
  let planned: PlannedDatabase
  const many = { tenant: "many" }
  let owner: string
  let ids: string[]
  const filter = { createdSince: new Date(0), createdBefore: new Date("9000-01-01") }
  beforeAll(async () => {
    planned = await openPlanned(target)
    const store = sqlStore(planned.database, { encryptionKeys })
    ids = range(400).map(() => newUser().id)
    for (const id of ids) await store.users.create(many, newUser({ id, email: `${id}@example.com` }))
    for (const id of [...ids, ...Array<string>(40).fill(ids[0] as string)]) {
      await store.accounts.link(many, newAccount(id))
      await store.authenticators.create(many, newAuthenticator(id))
    }
    owner = ids[0] as string
    await store.tenants.create({}, { name: many.tenant, created: new Date(0) })
    const key = { ...many, name: "n", scopes: ["all"], secretHash: Buffer.alloc(32), created: new Date(0) }
    for (const n of range(400)) await store.apiKeys.create({}, { ...key, id: `key ${n}` })
    // A server reads a whole index of the table if all of its rows are those of the tenant.
    if (target !== "sqlite") await planned.fill(target === "postgres" ? many.tenant : "others")
    await planned.analyze("users", "accounts", "authenticators", "api_keys")
  })
  afterAll(() => planned.close())

  test.each<[string, (store: Store) => Promise<unknown>, string, string | readonly string[]]>([
    ["users.list", (store) => store.users.list(many, {}, { size: 5 }), "u", "users_created"],
    ["users.list, filtered", (store) => store.users.list(many, filter, { size: 5 }), "u", "users_created"],
    [
      "users.count",
      (store) => store.users.count(many, filter),
      "u",
      ["users_created", "users_created", "users_deleted"],
    ],
    [
      "users.count by address",
      (store) => store.users.count(many, { email: `${ids[7]}@example.com` }),
      "u",
      "users_email_key",
    ],
    [
      "accounts.listByUser",
      (store) => store.accounts.listByUser(many, owner, { size: 5 }, { tokens: false }),
      "a",
      "accounts_user_id",
    ],
    [
      "authenticators.list",
      (store) => store.authenticators.list(many, owner, { size: 5 }),
      "a",
      "authenticators_user_id",
    ],
    ["apiKeys.page", (store) => store.apiKeys.page(many, { size: 5 }), "k", "api_keys_list"],
    [
      "tokenRefreshes.get",
      (store) => store.tokenRefreshes.get(many, { userId: ids[1] as string, provider: "github" }),
      "a",
      "accounts_user_id",
    ],
  ])("%s reads by an index, from where the page begins and in its order", async (_, call, table, keys) => {
    planned.recorded.length = 0
    await call(planned.recordingStore())
    const used: unknown[] = []
    for (const statement of planned.recorded) {
      const access = (await planned.plans.of(statement)).find((one) => one.table === table)
      expect(access).toMatchObject({ type: expect.stringMatching(/^(range|ref|const)$/) })
      used.push(access?.key)
      expect(await planned.plans.sortsRows(statement)).toBe(false)
    }
    expect(used).toEqual([keys].flat())
  })

  test.each<[string, (store: Store, page: PageRequest) => Promise<Page<unknown>>]>([
    ["users.list", (store, page) => store.users.list(many, filter, page)],
    ["accounts.listByUser", (store, page) => store.accounts.listByUser(many, owner, page, { tokens: false })],
    ["authenticators.list", (store, page) => store.authenticators.list(many, owner, page)],
    ["apiKeys.page", (store, page) => store.apiKeys.page(many, page)],
  ])("S-23: a later page of %s examines no more rows than it returns", async (_, list) => {
    const { nextToken: token } = await list(planned.recordingStore(), { size: 24 })
    planned.recorded.length = 0
    await list(planned.recordingStore(), { size: 5, token })
    const [statement] = planned.recorded as [Ran]
    expect((await planned.plans.rowsExamined(statement)) ?? 0).toBeLessThanOrEqual(rowsPerStatement + 2)
    if (target === "sqlite") expect(await planned.plans.text(statement)).toMatch(/,\w+\)>\(|AND \w+>\?/)
  })

  test("S-23: users.count examines a limited number of entries in a statement, and counts every user once", async () => {
    const crowd = { tenant: "crowd" }
    const insert = `INSERT INTO users (tenant, id, extra, created)
      SELECT 'crowd', CONCAT('u', n), '{}', '2026-01-01 00:00:00.000' FROM ${numbersTo(11_200)}`
    await planned.tables.query(insert)
    await planned.analyze("users")
    planned.recorded.length = 0
    expect(await planned.recordingStore().users.count(crowd, {})).toBe(11_200)
    expect(planned.recorded).toHaveLength(5)
    for (const statement of planned.recorded)
      expect((await planned.plans.rowsExamined(statement)) ?? 0).toBeLessThanOrEqual(countedAtOnce + 5)
  })
})
