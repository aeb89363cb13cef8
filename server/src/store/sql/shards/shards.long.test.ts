import { randomBytes } from "node:crypto"
import { openShardedDatabase, type ShardedDatabase } from "@authwire/test-support/databases/sharded-database.js"
import { newAccount, newId, newSession, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { diagnoseVitess } from "../../../doctor/vitess.js"
import type { Caller, Transaction } from "../../store.js"
import type { SqlStore } from "../open.js"
import { StatementError } from "../query/statement-error.js"

const url = process.env.AUTHWIRE_TEST_VITESS_SHARDS_URL as string

storeContract("shards of Vitess", () => openShardedDatabase(url))
describe("eight tenants in the shards of Vitess", () => eightTenants(url))

function eightTenants(url: string) {
  let database: ShardedDatabase
  let store: SqlStore
  const callers = range(8).map((n) => ({ tenant: `tenant-${n}` }))
  beforeAll(async () => {
    database = await openShardedDatabase(url)
    store = await database.openStore({ eventsKeepMs: 86_400_000 })
    for (const { tenant } of callers) await store.tenants.create({}, { name: tenant, created: new Date() })
  })
  afterAll(() => database.drop())

  /** The shard of a tenant, as Vitess says. */
  async function shardOf(tenant: string) {
    const [row] = await database.sqlIn(database.keyspace, "SELECT shard FROM `tenant` WHERE id = ?", [tenant])
    return `${database.keyspace}:${row?.shard}`
  }

  const newKey = () => ({
    id: newId().slice(0, 16),
    name: "k",
    scopes: ["all"],
    secretHash: randomBytes(32),
    expires: undefined,
  })

  async function calls(caller: { tenant: string }) {
    const user = await store.users.create(caller, newUser())
    const session = newSession(user.id, Date.now() + 86_400_000)
    const request = { owner: "o", key: newId(), digest: () => "d" }
    await store.once(caller, request, async (transaction) => {
      await store.accounts.link({ ...caller, transaction }, newAccount(user.id))
      return Buffer.from("done")
    })
    await store.sessions.create(caller, session)
    await store.sessions.getWithUser(caller, session.sessionToken)
    await store.users.list(caller, {}, { size: 5 })
    await store.events.sequence(caller)
    expect((await store.events.read(caller, { after: 0, limit: 9 })).length).toBeGreaterThan(0)
  }

  test("every row is in the shard that Vitess has for its tenant, also if they call at the same time", async () => {
    await Promise.all(callers.map(calls))
    const found = new Set<string>()
    for (const shard of database.shards) {
      for (const table of ["users", "accounts", "sessions", "events", "event_head", "idempotency_keys"]) {
        for (const { tenant } of await database.sqlIn(shard, `SELECT DISTINCT tenant FROM ${table}`)) {
          expect(await shardOf(String(tenant))).toBe(shard)
          found.add(`${shard} ${table}`)
        }
      }
    }
    // Each shard has rows of each table.
    expect(found.size).toBe(6 * database.shards.length)
  })

  test("the calls of a tenant run statements in its shard only", async () => {
    const [caller] = callers as [{ tenant: string }]
    const own = await shardOf(caller.tenant)
    const ofTables = "`(users|sessions|accounts|events|event_head|idempotency_keys)`"
    /** Counts the statements on these tables that the server has run in a shard. */
    const statementsIn = async (shard: string) => {
      const counted = "SELECT SUM(s.count_star) AS n FROM performance_schema.events_statements_summary_by_digest s"
      const ofShard = "t.table_schema = DATABASE() AND t.table_name = 'users' AND s.schema_name = t.table_schema"
      const from = `${counted}, information_schema.tables t WHERE ${ofShard} AND s.digest_text REGEXP ?`
      return Number((await database.sqlIn(shard, from, [ofTables]))[0]?.n)
    }
    const before: number[] = []
    for (const shard of database.shards) before.push(await statementsIn(shard))
    await calls(caller)
    for (const [index, shard] of database.shards.entries()) {
      const count = (await statementsIn(shard)) - (before[index] as number)
      if (shard === own) expect(count).toBeGreaterThan(5)
      else expect(count).toBe(0)
    }
  })

  test("a key and a tenant are found whatever the shard is, and a deleted tenant leaves nothing in any", async () => {
    const caller = { tenant: "gone" }
    const key = newKey()
    await store.tenants.createWithKey(callers[0] as { tenant: string }, { name: "gone", created: new Date() }, key)
    await calls(caller)
    expect(await store.apiKeys.get({}, key.id)).toMatchObject({ tenant: "gone" })
    await store.tenants.mark({}, { name: "gone", deleted: new Date() })
    await expect(store.users.create(caller, newUser())).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
    while ((await store.tenants.deleteBatch({}, "gone", 100)) !== null);
    for (const name of [...database.shards, `${database.keyspace}_global`])
      for (const table of ["users", "sessions", "events", "event_head", "api_keys"])
        expect(await database.sqlIn(name, `SELECT tenant FROM ${table} WHERE tenant = 'gone'`)).toEqual([])
    expect((await store.tenants.list({})).map(({ name }) => name)).not.toContain("gone")
    await store.tenants.create({}, { name: "gone", created: new Date() })
    await calls(caller)
  })

  /** Creates a key and a tenant with one in a call whose first run ends with an error after both are committed. */
  function interrupted(name: string, failure: Error) {
    const [own] = callers as [{ tenant: string }]
    const [key, another] = [newKey(), newKey()]
    let runs = 0
    const call = { owner: "o", key: newId(), digest: () => name }
    const work = async (transaction: Transaction) => {
      const created = new Date()
      const caller: Caller = { ...own, transaction }
      await store.apiKeys.create(caller, { ...key, ...own, created }, { isLimited: true })
      await store.tenants.createWithKey(caller, { name, created }, another)
      if (runs++ === 0) throw failure
      return Buffer.from("done")
    }
    return { ids: [key.id, another.id], runs: () => runs, run: () => store.once(own, call, work) }
  }

  test("a call that creates a key and a tenant runs again, with the same ones, if its transaction is rolled back", async () => {
    const { ids, run, runs } = interrupted("again", new StatementError("conflict", "planted"))
    expect(String(await run())).toBe("done")
    expect(runs()).toBe(2)
    for (const id of ids) expect(await store.apiKeys.get({}, id)).toMatchObject({ id })
    await calls({ tenant: "again" })
    // Another call, with another key, is not the same one.
    const other = store.tenants.createWithKey(
      callers[0] as { tenant: string },
      { name: "again", created: new Date() },
      newKey(),
    )
    await expect(other).rejects.toMatchObject({ reason: "TENANT_ALREADY_EXISTS" })
  })

  test("if a process ends between both commits, the key and the tenant are there, without the call's idempotency key", async () => {
    const [{ tenant }] = callers as [{ tenant: string }]
    const kept = () =>
      database.sqlIn(database.keyspace, "SELECT key_hash FROM idempotency_keys WHERE tenant = ?", [tenant])
    const before = await kept()
    const { ids, run } = interrupted("cut", new Error("planted"))
    await expect(run()).rejects.toThrow("planted")
    for (const id of ids) expect(await store.apiKeys.get({}, id)).toMatchObject({ id })
    expect(await kept()).toEqual(before)
    // The tenant is whole. Whoever has not got its key creates another one.
    await calls({ tenant: "cut" })
    await store.apiKeys.create({}, { ...newKey(), tenant: "cut", created: new Date() })
  })

  test("doctor compares the vschema with the one that is generated", async () => {
    const ofVitess = async () => {
      const found = await diagnoseVitess(store.database)
      return found.filter(({ state }) => state !== "ok").map(({ what, detail }) => `${what}: ${detail}`)
    }
    /** Changes the vschema of a table, and waits until vtgate has it. */
    const change = (statement: string, columns: string[]) =>
      database.sqlIn(database.keyspace, `ALTER VSCHEMA ON caches ${statement}`).then(() =>
        until(async () => {
          const is = await database.sqlIn(database.keyspace, "SHOW VSCHEMA VINDEXES ON caches").catch(() => [])
          return String(is.map(({ Columns }) => Columns)) === String(columns)
        }),
      )
    const command = new RegExp(`vtctldclient ApplyVSchema --vschema-file ${database.keyspace}.vschema.json`)
    expect(await ofVitess()).toEqual([])
    await change("DROP VINDEX tenant", [])
    try {
      expect(await ofVitess()).toEqual([expect.stringMatching(/^vschema: \w+: caches is missing: /)])
      await change("ADD VINDEX tenant (process)", ["process"])
      const [other] = await ofVitess()
      expect(other).toMatch(/caches has the vindex tenant \(xxhash\) on process, and must have .* on tenant: /)
      expect(other).toMatch(command)
      await change("DROP VINDEX tenant", [])
    } finally {
      await change("ADD VINDEX tenant (tenant)", ["tenant"])
    }
    expect(await ofVitess()).toEqual([])
  })

  test("a tenant whose creation was interrupted is completed by the next one", async () => {
    const caller = { tenant: "half" }
    await database.sqlIn(
      `${database.keyspace}_global`,
      "INSERT INTO tenants (name, created) VALUES ('half', CURRENT_TIMESTAMP(3))",
    )
    await expect(store.users.create(caller, newUser())).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
    await store.tenants.create({}, { name: "half", created: new Date() })
    await calls(caller)
    await expect(store.tenants.create({}, { name: "half", created: new Date() })).rejects.toMatchObject({
      reason: "TENANT_ALREADY_EXISTS",
    })
  })
}
