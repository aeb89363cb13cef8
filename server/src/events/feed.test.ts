import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals"
import { StoreError } from "../errors/store-error.js"
import type { EventStore, Store } from "../store/store.js"
import type { StoredEvent } from "../store/types.js"
import { type EventFeed, eventFeed } from "./feed.js"
import type { FeedPosition } from "./subscription.js"

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
    await feed.flush("one")
    expect([one.ids(), same.ids()]).toEqual([
      ["1", "3"],
      ["1", "3", "later"],
    ])
  })

  test("reports its position when there is nothing new for the tenant, whatever others write", async () => {
    const feed = open(slow)
    const some = listener()
    const start = await feed.subscribe(some.subscriber).start
    await other.users.create({ tenant: "t" }, newUser())
    await feed.flush("t")
    await feed.flush(some.tenant)
    const last = some.positions.at(-1) as FeedPosition
    expect(last.sequence).toBe(start.sequence)
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
        const sequence = await feed.flush(some.tenant)
        const found = some.delivered.find(({ userId }) => userId === user.id)
        expect(found?.sequence).toBeLessThanOrEqual(sequence)
        expect(some.positions.at(-1)?.sequence).toBeGreaterThanOrEqual(sequence)
      }),
    )
    expect(some.delivered).toHaveLength(50)
  })

  test("flush without subscribers only assigns sequences", async () => {
    const feed = open(slow)
    const caller = { tenant: "t" }
    await store.users.create(caller, newUser())
    const last = await feed.flush("t")
    expect(await other.events.history(caller)).toMatchObject({ last })
    expect(await other.events.sequence(caller)).toMatchObject({ last })
  })

  test("without subscribers of a tenant nothing of it is read", async () => {
    const asked: string[] = []
    const events: EventStore = {
      ...store.events,
      sequence(caller) {
        asked.push(caller.tenant)
        return store.events.sequence(caller)
      },
    }
    const feed = open({ events, pollMs: 1 })
    const [some, next] = [listener(), listener()]
    const { start, end } = feed.subscribe(some.subscriber)
    await start
    end()
    await feed.subscribe(next.subscriber).start
    await until(() => next.positions.length > 3)
    asked.length = 0
    await until(() => asked.length > 3)
    expect(new Set(asked)).toEqual(new Set([next.tenant]))
  })

  test("a tenant whose events cannot be read delays no other one, and the failure is told once", async () => {
    let fails = true
    const failures: unknown[] = []
    const [some, next] = [listener(), listener()]
    const events: EventStore = {
      ...store.events,
      sequence: async (caller) => {
        if (fails && caller.tenant === some.tenant) throw new StoreError("DATABASE_UNAVAILABLE", "no answer")
        return store.events.sequence(caller)
      },
    }
    const feed = open({ events, pollMs: 1, onFailure: (error) => void failures.push(error) })
    const { start } = feed.subscribe(some.subscriber)
    await feed.subscribe(next.subscriber).start
    await other.users.create(next, newUser({ id: "next" }))
    await until(() => next.delivered.length > 0)
    expect([next.ids(), some.positions, failures.length]).toEqual([["next"], [], 1])
    fails = false
    await start
  })

  test("the subscribers of a tenant that is deleted are reset, and those of a new one of the name", async () => {
    const caller = { tenant: "short-lived" }
    const create = () => store.tenants.create({}, { name: caller.tenant, created: new Date() })
    const failures: unknown[] = []
    const feed = open({ pollMs: 1, onFailure: (error) => void failures.push(error) })
    await create()
    await store.users.create(caller, newUser())
    const some = listener(caller.tenant)
    await feed.subscribe(some.subscriber).start
    expect(await store.tenants.mark({}, { name: caller.tenant, deleted: new Date() })).toBe(true)
    while ((await store.tenants.deleteBatch({}, caller.tenant, 10)) !== null);
    await until(() => some.resets.length > 0)
    await create()
    await until(() => some.positions.at(-1)?.sequence === 0)
    await store.users.create(caller, newUser({ id: "new" }))
    await until(() => some.ids().at(-1) === "new")
    expect([some.positions.at(-1)?.sequence, failures]).toEqual([1, []])
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
    await expect(feed.flush(some.tenant)).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
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
    const first = feed.subscribe(listener(some.tenant).subscriber)
    await first.start
    await other.users.create(some, newUser())
    // The feed's own first read may have begun before that.
    const flushed = [feed.flush(some.tenant), feed.flush(some.tenant)]
    await until(() => isReading)
    first.end()
    await other.users.create(some, newUser())
    const subscription = feed.subscribe(some.subscriber)
    held.resolve()
    const start = await subscription.start
    await Promise.all(flushed)
    await feed.flush(some.tenant)
    expect(some.delivered).toEqual([])
    expect(some.positions.length).toBeGreaterThan(1)
    for (const [n, { sequence, asOf }] of some.positions.entries()) {
      const before = some.positions[n - 1] ?? start
      expect(sequence).toBeGreaterThanOrEqual(before.sequence)
      expect(asOf).toBeGreaterThanOrEqual(before.asOf)
    }
  })

  test.each([
    ["continues if no events were deleted", 0, 0],
    ["reports that unread events were deleted", 1, 1],
  ])("after a time without reads it %s", async (_, more, resets) => {
    let isLater = false
    const events: EventStore = {
      ...store.events,
      async history(waiter) {
        const history = await store.events.history(waiter)
        if (!isLater) return history
        return { ...history, before: start.sequence + more }
      },
    }
    const feed = open({ ...slow, events })
    const some = listener()
    const start = await feed.subscribe(some.subscriber).start
    await feed.flush(some.tenant)
    await other.users.create(some, newUser({ id: "later" }))
    const now = performance.now()
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now + 60_000)
    isLater = true
    await feed.flush(some.tenant)
    clock.mockRestore()
    expect(some.resets).toHaveLength(resets)
    expect(some.ids()).toEqual(resets === 0 ? ["later"] : [])
  })

  test("reports at once that the database is another one, with fewer events or as many", async () => {
    let change = {}
    const events: EventStore = {
      ...store.events,
      sequence: async (caller) => ({ ...(await store.events.sequence(caller)), ...change }),
    }
    const feed = open({ ...slow, events })
    const some = listener()
    await store.users.create(some, newUser())
    const { sequence } = await feed.subscribe(some.subscriber).start
    change = { last: sequence - 1 }
    expect(await feed.flush(some.tenant)).toBe(sequence - 1)
    change = { last: sequence, history: "ANOTHER" }
    await feed.flush(some.tenant)
    expect(some.resets.map((position) => position.sequence)).toEqual([sequence - 1, sequence])
  })

  test.each([999, 1_000, 1_001, 2_000, 2_001])("delivers all of %i events that came at once", async (count) => {
    let last = 0
    const all = range(count).map((n) => ({ sequence: n + 1, tenant: "t", created: new Date() }) as StoredEvent)
    const events = {
      sequence: async () => ({ history: "one", last }),
      history: async () => ({ id: "one", before: 0, last }),
      read: async (_: unknown, { after, limit }: { after: number; limit: number }) => all.slice(after, after + limit),
    }
    const feed = open({ ...slow, events })
    const some = listener("t")
    await feed.subscribe(some.subscriber).start
    await feed.flush(some.tenant)
    last = count
    expect(await feed.flush(some.tenant)).toBe(count)
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
    await expect(feed.flush(some.tenant)).rejects.toThrow()
    expect(some.positions).toHaveLength(count)
  })
})
