import { hash } from "node:crypto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { encryptionKeys, newUser } from "@authwire/test-support/store-contract/context.js"
import { describe, expect, test } from "@jest/globals"
import { type EventFeed, eventFeed } from "../events/feed.js"
import type { FeedSubscriber } from "../events/subscription.js"
import { eventKinds } from "../store/event-kinds.js"
import { openSqlStore } from "../store/sql/index.js"
import type { EventKind, StoredEvent } from "../store/types.js"
import { type Changes, changeFeed } from "./changes.js"

const target = serviceDatabase()

describe("changeFeed", () => {
  test("reach is the position of the tenant's last event, whatever other tenants have written since", async () => {
    const database = await createStoreDatabase(target)
    const store = await openSqlStore({ url: database.url, encryptionKeys, eventsKeepMs: 86_400_000 })
    const feed = eventFeed({ events: store.events, onFailure: () => {} })
    const { reach } = changeFeed(feed, store.events)
    try {
      for (const name of ["one", "two"]) await store.tenants.create({}, { name, created: new Date() })
      await store.users.create({ tenant: "one" }, newUser())
      const first = await reach("one")
      expect(first).toBeGreaterThan(0n)
      // Without an event of the tenant there is nothing to wait for.
      expect(await reach("two")).toBe(0n)
      await store.users.create({ tenant: "two" }, newUser())
      expect(await reach("two")).toBeGreaterThan(0n)
      expect(await reach("one")).toBe(first)
    } finally {
      await feed.stop()
      await store.close()
      await database.drop()
    }
  })
})

describe("the changes of followers", () => {
  const keyOf = (text: string) => hash("sha256", text, "base64url").slice(0, 16)
  const position = { sequence: 7, asOf: 5 }
  const event = (kind: EventKind, ids: Partial<StoredEvent> = {}): StoredEvent => ({
    sequence: 7,
    tenant: "one",
    kind,
    created: new Date(0),
    ...ids,
  })

  /** Two tenants that follow the changes. The result has what each got, and delivers it. */
  function start() {
    const subscribers = new Map<string | undefined, FeedSubscriber>()
    const feed: Pick<EventFeed, "subscribe"> = {
      subscribe(subscriber) {
        subscribers.set(subscriber.tenant, subscriber)
        return { start: Promise.resolve(position), end: () => subscribers.delete(subscriber.tenant) }
      },
    }
    const changes: Changes[] = []
    const { follow } = changeFeed(feed as EventFeed, { isEnabled: true })
    const end = follow("one", (found) => changes.push(found))
    return { changes, end, subscribers }
  }

  test("have the keys of the sessions and users that an event may have changed", () => {
    const { changes, subscribers } = start()
    const { onEvents } = subscribers.get("one") as FeedSubscriber
    onEvents(
      eventKinds.map((kind) => event(kind, { sessionId: `s of ${kind}`, userId: `u of ${kind}` })),
      position,
    )
    const common = { asOf: 5, sequence: 7n, isReset: false }
    const ofUsers = ["user.updated", "user.deleted", "user.sessions_revoked", "user.disabled"]
    const keys = [...ofUsers, "session.updated", "session.deleted"].map((kind) =>
      keyOf(kind.startsWith("session.") ? `ss of ${kind}` : `uu of ${kind}`),
    )
    expect(changes).toEqual([{ ...common, keys, isOfAll: true }])
    for (const [kind, isOfAll] of [
      ["account.linked", false],
      ["all_sessions.revoked", true],
      ["session_policy.updated", true],
    ] as const) {
      onEvents([event(kind)], position)
      expect(changes.at(-1)).toEqual({ ...common, keys: [], isOfAll })
    }
    onEvents([], position)
    expect(changes.at(-1)).toEqual({ ...common, keys: [], isOfAll: false })
  })

  test("are a reset if events were missed, or if an event does not say whom it concerns", () => {
    const { changes, subscribers } = start()
    subscribers.get("one")?.onEvents([event("user.deleted")], position)
    subscribers.get("one")?.onReset(position)
    expect(changes).toMatchObject([{ isReset: true }, { isReset: true, keys: [], sequence: 7n }])
  })

  test("end with their follower", () => {
    const { end, subscribers } = start()
    end()
    expect(subscribers.size).toBe(0)
  })
})
