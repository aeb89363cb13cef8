import { setTimeout as delay } from "node:timers/promises"
import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { newId, newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type EventFeed, eventFeed } from "../../../events/feed.js"
import { watch } from "../../../events/watch.js"
import type { EventPosition, StoredEvent } from "../../types.js"
import type { SqlStore } from "../index.js"
import { eventRows } from "./event-rows.js"

/** The amount of load: `AUTHWIRE_TEST_EVENTS` multiplies it. */
const factor = Number(process.env.AUTHWIRE_TEST_EVENTS ?? 1)

// Three processes run transactions that commit late, out of the order of their ids, or not at all. Meanwhile each
// process assigns sequences, and so do some processes that are killed.
describe.each(databaseTargets())("events under load on %s", (target) => {
  let database: StoreDatabase
  const stores: SqlStore[] = []
  const open = async () => (await database.openStore({ eventsKeepMs: 86_400_000 })) as SqlStore

  beforeAll(async () => {
    database = await createStoreDatabase(target, { tenants: ["load", "free", ...range(6).map((n) => `held ${n}`)] })
    for (const _ of range(3)) stores.push(await open())
  })
  afterAll(() => database.drop())

  test("each reader gets every committed event once, in one order, in which earlier commits precede later writes", async () => {
    const caller = { tenant: "load" }
    const isSqlite = target === "sqlite"
    const perWriter = Math.round((isSqlite ? 12 : 60) * factor)
    const lateMs = isSqlite ? 4 : 30
    /** The ids of committed events, in the order in which their commits were acknowledged. */
    const committed: string[] = []
    const rolledBack: string[] = []
    /** For each event, the number of commits that were acknowledged when its write began. */
    const followed = new Map<string, number>()
    let isOver = false

    const told = stores.map((): StoredEvent[] => [])
    const feeds: EventFeed[] = []
    for (const [n, store] of stores.entries()) {
      const feed = eventFeed({ events: store.events, pollMs: 5 })
      feeds.push(feed)
      const subscription = feed.subscribe({
        tenant: caller.tenant,
        onEvents: (events) => void told[n]?.push(...events),
        onReset: () => {
          throw new Error("nothing is cleaned away here")
        },
      })
      await subscription.start
    }

    /** Runs a transaction that holds its event for a while before it commits or rolls back. */
    async function late(store: SqlStore, id: string): Promise<void> {
      const eventOf = eventRows(store.database, { clock: Date.now, isEnabled: true })
      const { insert } = store.database.tables.events
      const [bound] = eventOf(caller, "user.updated", { userId: id })
      const statement = { sql: insert.sql, cells: () => [...(bound?.cells ?? [])] }
      const isLost = Math.random() < 0.3
      try {
        followed.set(id, committed.length)
        await store.database.write({}, [], async (sql) => {
          await sql.write(statement, undefined)
          await delay(Math.random() * lateMs)
          if (isLost) throw new Error("rolled back")
        })
        committed.push(id)
      } catch (error) {
        if (!isLost) throw error
        rolledBack.push(id)
      }
    }

    async function writer(store: SqlStore): Promise<void> {
      for (const _ of range(perWriter)) {
        const id = newId()
        if (Math.random() < 0.5) await late(store, id)
        else {
          followed.set(id, committed.length)
          await store.users.create(caller, newUser({ id }))
          committed.push(id)
        }
        // Writes of this process that follow begin after this flush.
        if (Math.random() < 0.2) await feeds[Math.floor(Math.random() * feeds.length)]?.flush(caller.tenant)
      }
    }

    /** Runs processes that are killed while they assign sequences. */
    async function victims(): Promise<number> {
      let count = 0
      while (!isOver) {
        const victim = await open()
        const dying = [victim.events.sequence(caller), delay(Math.random() * 20)]
        await Promise.race(dying)
        const last = victim.events.sequence(caller).catch(() => {})
        await victim.close()
        await last
        await Promise.allSettled(dying)
        count++
        await delay(20)
      }
      return count
    }

    /** Runs a client whose stream is cut repeatedly and which continues from its last cursor. */
    async function watcher(): Promise<StoredEvent[]> {
      const [store, feed] = [stores[0] as SqlStore, feeds[0] as EventFeed]
      const seen: StoredEvent[] = []
      let start: EventPosition | undefined = { history: (await store.events.history(caller)).id, sequence: 0 }
      const last = () => committed.every((id) => seen.some(({ userId }) => userId === id))
      while (!isOver || !last()) {
        const abort = new AbortController()
        const { signal } = abort
        const end = setTimeout(() => abort.abort(), Math.random() * 200)
        const streamed = watch({ events: store.events, feed }, { ...caller, signal }, { start, checkpointMs: 20 })
        try {
          for await (const { event, position } of streamed) {
            if (event !== undefined) seen.push(event)
            start = position
            signal.throwIfAborted()
          }
        } catch (error) {
          if (!signal.aborted) throw error
        }
        clearTimeout(end)
      }
      return seen
    }

    const killing = victims()
    const watching = watcher()
    await Promise.all(stores.flatMap((store) => range(4).map(() => writer(store))))
    isOver = true
    expect(await killing).toBeGreaterThan(0)
    const seen = await watching
    for (const feed of feeds) await feed.flush(caller.tenant)

    const ids = (events: readonly StoredEvent[]) => events.map(({ userId }) => userId)
    const stored = await database.sql("SELECT user_id, sequence FROM events ORDER BY sequence")
    const order = stored.map((row) => row.user_id as string)
    expect([...order].sort()).toEqual([...committed].sort())
    expect(rolledBack.length).toBeGreaterThan(0)
    expect(stored.every(({ sequence }) => sequence !== null)).toBe(true)
    expect(new Set(stored.map(({ sequence }) => Number(sequence))).size).toBe(order.length)
    for (const each of told) expect(ids(each)).toEqual(order)
    expect(ids(seen)).toEqual(order)

    // An event that was committed before the write of another one began must precede it.
    const position = new Map(order.map((id, n) => [id, n]))
    const latest = committed.map(() => 0)
    for (const [n, id] of committed.entries()) latest[n] = Math.max(latest[n - 1] ?? -1, position.get(id) as number)
    for (const id of committed) {
      const before = followed.get(id) as number
      if (before > 0) expect(position.get(id)).toBeGreaterThan(latest[before - 1] as number)
    }
    // Check that there was real load: many events committed out of the order in which they began.
    const overtaken = committed.filter(
      (id, n) => n > 0 && (followed.get(id) as number) < (followed.get(committed[n - 1] as string) as number),
    )
    if (!isSqlite) expect(overtaken.length).toBeGreaterThan(10)
    for (const feed of feeds) await feed.stop()
  })

  type Lock = (tenant: string) => Promise<unknown>
  // Each statement finds a row by its key, because InnoDB would also lock the rows around it.
  const lockEvent: Lock = async (tenant) => {
    const [row] = await database.sql("SELECT MIN(id) AS id FROM events WHERE tenant = ? AND sequence IS NULL", [tenant])
    return database.sql("UPDATE events SET provider = 'p' WHERE id = ?", [row?.id])
  }
  const lockHead: Lock = (tenant) =>
    database.sql("SELECT sequence FROM event_head WHERE tenant = ? FOR UPDATE", [tenant])
  const locks: [what: string, count: number, lock: Lock][] = [
    ["an event of a tenant", 1, lockEvent],
    ["the heads of six tenants", 6, lockHead],
  ]
  // On SQLite a transaction that writes locks the whole database.
  for (const [what, count, lock] of target === "sqlite" ? [] : locks)
    test(`a transaction that has locked ${what} delays no watcher of another one`, async () => {
      // It is on the member of a cluster on which the locks are held.
      const [store] = stores as [SqlStore]
      const held = range(6).map((n) => ({ tenant: `held ${n}` }))
      for (const caller of held) {
        await store.events.sequence(caller)
        await store.users.create(caller, newUser({ id: newId() }))
      }
      const feed = eventFeed({ events: store.events, pollMs: 5 })
      const seen: unknown[] = []
      const subscribe = (tenant: string) =>
        feed.subscribe({
          tenant,
          onEvents: (events) => void seen.push(...events.map(({ userId }) => userId)),
          onReset: () => {},
        })
      try {
        await database.sql("BEGIN")
        for (const { tenant } of held.slice(0, count)) await lock(tenant)
        let heldBegan = 0
        const starts = held.map(({ tenant }) => subscribe(tenant).start.then(() => void heldBegan++))
        await subscribe("free").start
        for (const id of range(3).map(() => newId())) {
          await store.users.create({ tenant: "free" }, newUser({ id }))
          await until(() => seen.at(-1) === id)
        }
        await until(() => heldBegan === held.length - count)
        await database.sql("ROLLBACK")
        await Promise.all(starts)
      } finally {
        await database.sql("ROLLBACK")
        await feed.stop()
      }
    })
})
