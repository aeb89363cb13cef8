import { hash } from "node:crypto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { type EventFeed, eventFeed, type FeedSubscriber } from "../events/feed.js"
import { encryptionKeys, newUser } from "../store/conformance/context.js"
import { eventKinds } from "../store/event-kinds.js"
import { openSqlStore } from "../store/sql/index.js"
import type { EventKind, StoredEvent } from "../store/types.js"
import { eventChanges } from "./event-changes.js"
import type { Look } from "./feed.js"

const target = serviceDatabase()

describe("eventChanges", () => {
  test("reach is the position of the tenant's last event, whatever other tenants have written since", async () => {
    const database = await createStoreDatabase(target)
    const store = await openSqlStore({ url: database.url, encryptionKeys, eventsKeepMs: 86_400_000 })
    const feed = eventFeed({ events: store.events, onFailure: () => {} })
    const { reach } = eventChanges(feed, store.events)
    try {
      for (const name of ["one", "two"]) await store.tenants.create({}, { name, created: new Date() })
      await store.users.create({ tenant: "one" }, newUser())
      const first = await reach("one")
      expect(first).toBeGreaterThan(0n)
      // Without an event of the tenant there is nothing to wait for.
      expect(await reach("two")).toBe(0n)
      await store.users.create({ tenant: "two" }, newUser())
      expect(await reach("two")).toBeGreaterThan(first)
      expect(await reach("one")).toBe(first)
    } finally {
      await feed.stop()
      await store.close()
      await database.drop()
    }
  })
})

describe("the looks of followers", () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  const settle = () => new Promise(setImmediate)
  const keyOf = (text: string) => hash("sha256", text, "base64url").slice(0, 16)
  const position = { sequence: 7, asOf: 5 }
  const event = (kind: EventKind, ids: Partial<StoredEvent> = {}): StoredEvent => ({
    sequence: 7,
    tenant: "one",
    kind,
    created: new Date(0),
    ...ids,
  })

  /** A feed whose subscriptions are in the hands of the test. */
  function start() {
    const asked: { subscriber: FeedSubscriber; isEnded: boolean; succeed(): void; fail(): void }[] = []
    const feed: Pick<EventFeed, "subscribe"> = {
      subscribe: (subscriber) =>
        new Promise((resolve, reject) => {
          const one = {
            subscriber,
            isEnded: false,
            succeed() {
              resolve({
                start: position,
                end: () => {
                  one.isEnded = true
                },
              })
            },
            fail: () => reject(new Error("down")),
          }
          asked.push(one)
        }),
    }
    const changes = eventChanges(feed as EventFeed, { isEnabled: true, last: async () => null })
    function follow(tenant: string) {
      const looks: Look[] = []
      return { looks, end: changes.of(tenant).follow((look) => looks.push(look)) }
    }
    return { asked, follow }
  }

  test("have the keys of the sessions and users of their own tenant that an event may have changed", () => {
    const { asked, follow } = start()
    const [one, two, idle] = [follow("one"), follow("two"), follow("three")]
    expect(asked).toHaveLength(1)
    const found = [
      ...eventKinds.map((kind) => event(kind, { sessionId: `s of ${kind}`, userId: `u of ${kind}` })),
      event("session.deleted", { tenant: "two", sessionId: "s2", userId: "u2" }),
    ]
    asked[0]?.subscriber.onEvents(found, position)
    const common = { began: 5, sequence: 7n, isBroken: false }
    const keys = ["user.updated", "user.deleted", "user.sessions_revoked", "session.updated", "session.deleted"].map(
      (kind) => keyOf(kind.startsWith("session.") ? `ss of ${kind}` : `uu of ${kind}`),
    )
    expect(one.looks).toEqual([{ ...common, keys, isNews: true }])
    expect(two.looks).toEqual([{ ...common, keys: [keyOf("ss2")], isNews: true }])
    expect(idle.looks).toEqual([{ ...common, keys: [], isNews: false }])
    asked[0]?.subscriber.onEvents([event("account.linked", { userId: "u" })], position)
    expect(one.looks.at(-1)).toEqual({ ...common, keys: [], isNews: true })
  })

  test("are broken if events were missed, or if an event does not say whom it concerns", () => {
    const { asked, follow } = start()
    const [one, two] = [follow("one"), follow("two")]
    asked[0]?.subscriber.onEvents([event("user.deleted")], position)
    expect([one, two].map(({ looks }) => looks.at(-1)?.isBroken)).toEqual([true, false])
    asked[0]?.subscriber.onReset(position)
    expect([one, two].map(({ looks }) => looks.at(-1)?.isBroken)).toEqual([true, true])
  })

  test("end with their follower, and the subscription with the last of them", async () => {
    const { asked, follow } = start()
    const [one, two] = [follow("one"), follow("one")]
    asked[0]?.succeed()
    await settle()
    one.end()
    one.end()
    asked[0]?.subscriber.onEvents([], position)
    expect([one.looks.length, two.looks.length, asked[0]?.isEnded]).toEqual([0, 1, false])
    two.end()
    expect(asked[0]?.isEnded).toBe(true)
    const next = follow("one")
    expect(asked).toHaveLength(2)
    // The first subscription may still have a read on its way.
    asked[0]?.subscriber.onEvents([], position)
    asked[0]?.subscriber.onReset(position)
    expect(next.looks).toEqual([])
  })

  test("a subscription that is made when nobody follows any more ends at once", async () => {
    const { asked, follow } = start()
    follow("one").end()
    asked[0]?.succeed()
    await settle()
    expect(asked[0]?.isEnded).toBe(true)
  })

  test("a subscription that fails is tried again, as long as somebody follows", async () => {
    const { asked, follow } = start()
    const one = follow("one")
    asked[0]?.fail()
    await settle()
    await jest.advanceTimersByTimeAsync(500)
    expect(asked).toHaveLength(2)
    one.end()
    asked[1]?.fail()
    await settle()
    await jest.advanceTimersByTimeAsync(10_000)
    expect(asked).toHaveLength(2)
  })
})
