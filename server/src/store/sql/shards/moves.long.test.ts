import {
  emptyTables,
  openShardedDatabase,
  type ShardedDatabase,
  shardTables,
} from "@authwire/test-support/databases/sharded-database.js"
import { openVtctld, type Vtctld } from "@authwire/test-support/databases/vtctld.js"
import { newSession, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Session, StoredEvent, User } from "../../types.js"
import { applyMigrations, openDatabase } from "../index.js"
import type { SqlStore } from "../open.js"

// A keyspace with the shards -80 and 80-, and with -40 and 40-80 that do not serve.
const url = process.env.AUTHWIRE_TEST_VITESS_SHARDS_URL as string
const vtctldAddress = process.env.AUTHWIRE_TEST_VITESS_VTCTLD as string
const [before, after] = [["-80"], ["-40", "40-80"]]

interface Rows {
  user: User
  session: Session
  events: StoredEvent[]
}

describe("a shard of Vitess that is split", () => {
  let database: ShardedDatabase
  let vtctld: Vtctld
  let store: SqlStore
  let other: SqlStore
  const callers = range(12).map((n) => ({ tenant: `tenant-${n}` }))
  const rows = new Map<string, Rows>()

  const opened = () => store.database.shards?.all().map(({ dataSource }) => String(dataSource.options.database))
  const named = (shards: string[]) => shards.map((shard) => `${database.keyspace}:${shard}`)
  const shardOf = async (tenant: string) => {
    const [row] = await database.sqlIn(database.keyspace, "SELECT shard FROM `tenant` WHERE id = ?", [tenant])
    return String(row?.shard)
  }
  /** Lets shards serve in place of others, and waits until vtgate knows. */
  async function serve(shards: string[], instead: string[]) {
    await vtctld.switchShards(instead, shards)
    await until(async () => {
      const found = await database.sqlIn(database.keyspace, "SHOW VITESS_SHARDS")
      return shards.every((shard) => found.some(({ Shards }) => Shards === `${database.keyspace}/${shard}`))
    })
  }

  async function create(caller: { tenant: string }) {
    const user = await store.users.create(caller, newUser())
    const session = await store.sessions.create(caller, newSession(user.id, Date.now() + 86_400_000))
    await store.events.sequence(caller)
    rows.set(caller.tenant, { user, session, events: await store.events.read(caller, { after: 0, limit: 99 }) })
  }

  beforeAll(async () => {
    const { pathname } = new URL(url)
    vtctld = openVtctld(vtctldAddress, pathname.slice(1))
    database = await openShardedDatabase(url)
    store = await database.openStore({ eventsKeepMs: 86_400_000 })
    other = await database.openStore({ eventsKeepMs: 86_400_000 })
    for (const { tenant } of callers) await store.tenants.create({}, { name: tenant, created: new Date() })
    await Promise.all(callers.map(create))
  })
  afterAll(async () => {
    await serve(before, after)
    vtctld.close()
    await database.drop()
  })

  /** Does by hand what a reshard does before it lets the new shards serve. Each gets all rows, also those of the other one. */
  async function copyRows() {
    const { keyspace, sqlIn } = database
    for (const shard of after) {
      const name = `${keyspace}:${shard}`
      const target = await openDatabase({ url: Object.assign(new URL(url), { pathname: `/${name}` }).href })
      await applyMigrations(target)
      await target.close()
      await emptyTables(sqlIn, name)
      for (const table of shardTables.toReversed())
        await sqlIn(name, `INSERT INTO ${table} SELECT * FROM \`vt_${keyspace}_${before}\`.${table}`)
    }
  }

  test("is found again, with its tenants, by the next check of health", async () => {
    const shards = await Promise.all(callers.map(({ tenant }) => shardOf(tenant)))
    const moved = callers.filter((_, index) => shards[index] === "-80")
    const [first] = moved as [{ tenant: string }]
    const stays = callers[shards.indexOf("80-")] as { tenant: string }
    await copyRows()
    await serve(after, before)
    expect(new Set(await Promise.all(moved.map(({ tenant }) => shardOf(tenant))))).toEqual(new Set(after))
    expect(opened()?.toSorted()).toEqual(named(["-80", "80-"]))

    // A process that has not asked for a tenant yet learns the shard, and has not opened it.
    await expect(other.users.get(first, rows.get(first.tenant)?.user.id as string)).rejects.toMatchObject({
      reason: "DATABASE_UNAVAILABLE",
    })

    // The calls of the other tenants go on meanwhile.
    let isDone = false
    let calls = 0
    const going = (async () => {
      for (; !isDone; calls++) await store.users.get(stays, rows.get(stays.tenant)?.user.id as string)
    })()
    await Promise.all([store.ping({}), other.ping({})])
    isDone = true
    await going
    expect(calls).toBeGreaterThan(0)
    expect(opened()?.toSorted()).toEqual(named(["-40", "40-80", "80-"]))

    for (const one of [store, other]) {
      for (const caller of callers) {
        const { user, session, events } = rows.get(caller.tenant) as Rows
        expect(await one.sessions.getWithUser(caller, session.sessionToken)).toMatchObject({ user: { id: user.id } })
        const created = await one.users.create(caller, newUser())
        const found = new Set<string>()
        for (const name of named(["-80", "-40", "40-80", "80-"]))
          if ((await database.sqlIn(name, "SELECT id FROM users WHERE id = ?", [created.id])).length > 0)
            found.add(name)
        expect([...found]).toEqual(named([await shardOf(caller.tenant)]))
        await one.events.sequence(caller)
        const now = await one.events.read(caller, { after: 0, limit: 99 })
        // They keep their numbers, and the new one follows.
        expect(now.slice(0, -1)).toEqual(events)
        expect(now.at(-1)).toMatchObject({ userId: created.id })
        expect(now.at(-1)?.sequence).toBeGreaterThan(events.at(-1)?.sequence as number)
        events.push(...now.slice(-1))
      }
    }
  })
})
