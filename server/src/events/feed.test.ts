import { setTimeout as delay } from "node:timers/promises"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals"
import { StoreError } from "../errors/store-error.js"
import type { EventStore, Store } from "../store/store.js"
import type { StoredEvent } from "../store/types.js"
import { type EventFeed, eventFeed, type FeedPosition } from "./feed.js"

const target = serviceDatabase()

describe("the feed of events", () => {
  let database: StoreDatabase
  let store: Store
  let other: Store
  const feeds: EventFeed[] = []
  /** Tenants without events. */
  const further = range(20).map((n) => `further-${n}`)
  /** Long pauses, so that reads happen only on request. */
  const slow = { pollMs: 600_000 }
  const open = (options: Partial<Parameters<typeof eventFeed>[0]> = {}) => {
    const feed = eventFeed({ events: store.events, ...options })
    feeds.push(feed)
    return feed
  }

  beforeAll(async () => {
    database = await createStoreDatabase(target, { tenants: ["one", "two", "t", ...further] })
    store = await database.openStore({ eventsKeepMs: 86_400_000 })
    other = await database.openStore({ eventsKeepMs: 86_400_000 })
  })
  afterEach(async () => {
    jest.restoreAllMocks()
    for (const feed of feeds.splice(0)) await feed.stop()
  })
  afterAll(() => database.drop())

  /** Creates a subscriber that records its calls. */
  const listener = (tenant = further.pop() as string) => {
    const delivered: StoredEvent[] = []
    const positions: FeedPosition[] = []
    const resets: FeedPosition[] = []
    return {
      tenant,
      delivered,
      positions,
      resets,
      ids: () => delivered.map(({ userId }) => userId),
      subscriber: {
        tenant,
        onEvents(events: readonly StoredEvent[], position: FeedPosition) {
          delivered.push(...events)
          positions.push(position)
        },
        onReset: (position: FeedPosition) => void resets.push(position),
      },
    }
  }

  test("delivers the events of its tenant to each subscriber, once and in order, from when it came until it ends", async () => {
    const feed = open()
    const [one, same, two] = [listener("one"), listener("one"), listener("two")]
    await store.users.create(one, newUser({ id: "before" }))
    const subscriptions = [one, same, two].map(({ subscriber }) => feed.subscribe(subscriber))
    await Promise.all(subscriptions.map(({ start }) => start))
    for (const n of range(4)) await other.users.create(n % 2 ? one : two, newUser({ id: `${n}` }))
    await until(async () => two.delivered.length === 2 && one.delivered.length === 2)
    expect([one.ids(), same.ids(), two.ids()]).toEqual([
      ["1", "3"],
      ["1", "3"],
      ["0", "2"],
    ])
    subscriptions[0]?.end()
    await other.users.create(one, newUser({ id: "later" }))
    await feed.flush()
    expect([one.ids(), same.ids()]).toEqual([
      ["1", "3"],
      ["1", "3", "later"],
    ])
  })

  test("reports its position when there is nothing new for the tenant", async () => {
    const feed = open(slow)
    const some = listener()
    const start = await feed.subscribe(some.subscriber).start
    await other.users.create({ tenant: "t" }, newUser())
    await feed.flush()
    const last = some.positions.at(-1) as FeedPosition
    expect(last.sequence).toBeGreaterThan(start.sequence)
    expect(last.asOf).toBeGreaterThan(start.asOf)
    expect(some.delivered).toEqual([])
  })

  test("flush delivers everything that was committed before it, including writes of another process", async () => {
    const feed = open(slow)
    const some = listener()
    await feed.subscribe(some.subscriber).start
    const users = range(50).map(() => newUser())
    await Promise.all(
      users.map(async (user, n) => {
        await (n % 2 ? store : other).users.create(some, user)
        const sequence = await feed.flush()
        const found = some.delivered.find(({ userId }) => userId === user.id)
        expect(found?.sequence).toBeLessThanOrEqual(sequence)
        expect(some.positions.at(-1)?.sequence).toBeGreaterThanOrEqual(sequence)
      }),
    )
    expect(some.delivered).toHaveLength(50)
  })

  test("flush without subscribers only assigns sequences", async () => {
    const feed = open(slow)
    await store.users.create({ tenant: "t" }, newUser())
    const sequence = await feed.flush()
    expect(await other.events.history({})).toMatchObject({ last: sequence })
    expect(await other.events.sequence({})).toBe(sequence)
  })

  test("without subscribers it still assigns sequences, now and then, and a subscriber that comes gets events at once", async () => {
    const feed = open({ idleMs: 20 })
    const unsequenced = () => database.sql("SELECT id FROM events WHERE sequence IS NULL")
    await store.users.create({ tenant: "t" }, newUser())
    await until(async () => (await unsequenced()).length === 0)
    const idle = open({ idleMs: 600_000 })
    const some = listener()
    await idle.subscribe(some.subscriber).start
    await store.users.create(some, newUser({ id: "next" }))
    await until(async () => some.delivered.length > 0)
    expect(some.ids()).toEqual(["next"])
    await feed.stop()
    await idle.stop()
    await store.users.create({ tenant: "t" }, newUser())
    await delay(50)
    expect(await unsequenced()).toHaveLength(1)
  })

  test("begins once the database answers, and continues from its position after an outage", async () => {
    let fails = true
    const failures: unknown[] = []
    const events: EventStore = {
      ...store.events,
      sequence: async (waiter) => {
        if (fails) throw new StoreError("DATABASE_UNAVAILABLE", "the database does not answer")
        return store.events.sequence(waiter)
      },
    }
    const feed = open({ events, pollMs: 1, onFailure: (error) => void failures.push(error) })
    const some = listener()
    const { start } = feed.subscribe(some.subscriber)
    await until(async () => failures.length === 1)
    fails = false
    const first = await start
    expect(some.positions[0]).toEqual(first)
    fails = true
    await until(async () => failures.length === 2)
    await expect(feed.flush()).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    await other.users.create(some, newUser({ id: "meanwhile" }))
    fails = false
    await until(async () => some.delivered.length > 0)
    expect(some.ids()).toEqual(["meanwhile"])
    expect([some.resets.length, failures.length]).toEqual([0, 2])
  })

  test.each<[string, Pick<DateConstructor, "now">]>([
    ["the wall clock is set forward", Date],
    ["the process is stopped", performance],
  ])("%s for an hour during a read: the next one follows soon", async (_, clock) => {
    const now = clock.now.bind(clock)
    const setting = jest.spyOn(clock, "now")
    const set = Promise.withResolvers<void>()
    const some = listener()
    const events: EventStore = {
      ...store.events,
      async sequence(waiter) {
        const last = await store.events.sequence(waiter)
        if (some.positions.length === 0) return last
        setting.mockImplementation(() => now() + 3_600_000)
        set.resolve()
        return last
      },
    }
    await open({ events }).subscribe(some.subscriber).start
    await set.promise
    await other.users.create(some, newUser({ id: "later" }))
    await until(() => some.delivered.length > 0)
    expect([some.ids(), some.resets]).toEqual([["later"], []])
  })

  test("a subscriber that comes during a read gets no events from before it came", async () => {
    const held = Promise.withResolvers<void>()
    let isReading = false
    const events: EventStore = {
      ...store.events,
      async read(...asked) {
        isReading = true
        await held.promise
        return store.events.read(...asked)
      },
    }
    const feed = open({ ...slow, events })
    const some = listener()
    const first = feed.subscribe(listener().subscriber)
    await first.start
    await other.users.create(some, newUser())
    // The feed's own first read may have begun before that.
    const flushed = [feed.flush(), feed.flush()]
    await until(() => isReading)
    first.end()
    await other.users.create(some, newUser())
    const subscription = feed.subscribe(some.subscriber)
    held.resolve()
    const start = await subscription.start
    await Promise.all(flushed)
    await feed.flush()
    expect(some.delivered).toEqual([])
    expect(some.positions.length).toBeGreaterThan(1)
    for (const [n, { sequence, asOf }] of some.positions.entries()) {
      const before = some.positions[n - 1] ?? start
      expect(sequence).toBeGreaterThanOrEqual(before.sequence)
      expect(asOf).toBeGreaterThanOrEqual(before.asOf)
    }
  })

  test.each([
    ["continues if no events were deleted", 0, "same", 0],
    ["reports that unread events were deleted", 1, "same", 1],
    ["reports that the database is another one with as many events", 0, "other", 1],
  ])("after a time without reads it %s", async (_, more, name, resets) => {
    let isLater = false
    const events: EventStore = {
      ...store.events,
      async history(waiter) {
        const history = await store.events.history(waiter)
        if (!isLater) return history
        return { ...history, id: name === "same" ? history.id : name, before: start.sequence + more }
      },
    }
    const feed = open({ ...slow, events })
    const some = listener()
    const start = await feed.subscribe(some.subscriber).start
    await feed.flush()
    await other.users.create(some, newUser({ id: "later" }))
    const now = performance.now()
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now + 60_000)
    isLater = true
    await feed.flush()
    clock.mockRestore()
    expect(some.resets).toHaveLength(resets)
    expect(some.ids()).toEqual(resets === 0 ? ["later"] : [])
  })

  test("reports at once that the database has fewer events, so it is another one", async () => {
    let back = 0
    const events: EventStore = {
      ...store.events,
      sequence: async (waiter) => (await store.events.sequence(waiter)) - back,
    }
    const feed = open({ ...slow, events })
    const some = listener()
    await store.users.create(some, newUser())
    const { sequence } = await feed.subscribe(some.subscriber).start
    back = 1
    expect(await feed.flush()).toBe(sequence - 1)
    expect(some.resets).toEqual([{ sequence: sequence - 1, asOf: expect.any(Number) }])
  })

  test.each([999, 1_000, 1_001, 2_000, 2_001])("delivers all of %i events that came at once", async (count) => {
    let last = 0
    const all = range(count).map((n) => ({ sequence: n + 1, tenant: "t", created: new Date() }) as StoredEvent)
    const events = {
      sequence: async () => last,
      history: async () => ({ id: "one", before: 0, last }),
      read: async (_: unknown, { after, limit }: { after: number; limit: number }) => all.slice(after, after + limit),
    }
    const feed = open({ ...slow, events })
    const some = listener("t")
    await feed.subscribe(some.subscriber).start
    await feed.flush()
    last = count
    expect(await feed.flush()).toBe(count)
    expect(some.delivered).toEqual(all)
    expect(some.positions.at(-1)?.sequence).toBe(count)
  })

  test("does nothing more once it is stopped", async () => {
    const feed = open({ pollMs: 1 })
    const some = listener()
    await feed.subscribe(some.subscriber).start
    await feed.stop()
    const count = some.positions.length
    await store.users.create(some, newUser())
    await expect(feed.flush()).rejects.toThrow()
    expect(some.positions).toHaveLength(count)
  })
})
