import { openShardedDatabase, type ShardedDatabase } from "@authwire/test-support/databases/sharded-database.js"
import { newAccount, newId, newSession, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { SqlStore } from "../open.js"

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
    const key = {
      id: newId().slice(0, 16),
      name: "k",
      scopes: ["all"],
      secretHash: Buffer.alloc(32),
      expires: undefined,
    }
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
