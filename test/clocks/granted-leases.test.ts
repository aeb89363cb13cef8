import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { newSession, newUser } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import { sessionCaches } from "../../server/src/bootstrap/session-caches.js"
import { eventFeed } from "../../server/src/events/feed.js"
import type { FollowResponse } from "../../server/src/session-cache/client-stream.js"
import type { Store } from "../../server/src/store/store.js"

const later = endsAfterEach()
afterEach(() => {
  jest.restoreAllMocks()
})

test("the lease of a session cache does not end early for a server whose clock is set forward, so a revocation waits for it", async () => {
  const database = await createStoreDatabase("sqlite")
  later(() => database.drop())
  const store = await database.openStore({ eventsKeepMs: 86_400_000 })
  const feed = eventFeed({ events: store.events })
  later(feed.stop)
  let reads = 0
  const caches: Store["caches"] = {
    ...store.caches,
    list(caller) {
      reads++
      return store.caches.list(caller)
    },
  }
  const { hubs, confirmed } = sessionCaches({
    store: { caches, events: store.events },
    feed,
    log: pino({ enabled: false }),
  })
  later(async () => hubs.stop())
  const owner = { tenant: "default", keyId: "key" }
  const user = await store.users.create(owner, newUser())
  const session = newSession(user.id, Date.now() + 3_600_000)
  const { id } = await store.sessions.create(owner, session)

  // A client has a lease, and follows no more, as if it was frozen.
  const stream = hubs.open(owner, { ready() {}, fail() {} })
  const received: FollowResponse[] = []
  const receives = (isWanted: (response: FollowResponse) => boolean) =>
    until(() => {
      received.push(...[stream.take()].filter((one) => one !== undefined))
      return received.some(isWanted)
    })
  stream.receive({ maxStaleMs: 50_000, nonce: 1n, confirmed: 0n, done: false })
  await receives(({ nonce }) => nonce === 1n)

  await store.sessions.revoke(owner, id as string)
  let isOver = false
  const waiting = confirmed(owner.tenant, new AbortController().signal).then(() => {
    isOver = true
  })
  const time = Date.now
  jest.spyOn(Date, "now").mockImplementation(() => time() + 900_000)
  const before = reads
  await until(() => isOver || reads > before + 5)
  expect([isOver, hubs.load.leases]).toEqual([false, 1])

  await receives(({ keys }) => keys.length > 0)
  stream.receive({ maxStaleMs: 0, nonce: 0n, confirmed: received.at(-1)?.sequence as bigint, done: false })
  await waiting
})
