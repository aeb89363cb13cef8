import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import type { EventFeed } from "../events/feed.js"
import { type Confirmed, cachesConfirmed } from "../session-cache/awaiting.js"
import { changeFeed } from "../session-cache/changes.js"
import { cacheHubs, type Hubs } from "../session-cache/hubs.js"
import type { Store } from "../store/store.js"
import { orAborted } from "../util/abort.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { peerSignal } from "../util/peer-timeout.js"

export interface SessionCaches {
  readonly hubs: Hubs
  readonly confirmed: Confirmed
}

/** The timeout for writing a report, in milliseconds. After it a new attempt is better. */
const writeMs = 5_000
/** The timeout of one read of a tenant's reports, which all its waiting calls share, in milliseconds. */
const readMs = 2_000

/** Creates the state of clients with session caches: those of this process, and the reports of all processes. */
export function sessionCaches(deps: {
  store: Pick<Store, "caches" | "events">
  feed: EventFeed
  log: Logger
}): SessionCaches {
  const { store, log } = deps
  const process = randomUUID()
  const { now } = deps.feed
  const feed = changeFeed(deps.feed, store.events)
  let isFailing = false
  const hubs = cacheHubs({
    feed,
    now,
    elapsed: elapsedTime(),
    async write(tenant, { confirmed, ...report }) {
      const caller = { tenant, signal: peerSignal(writeMs) }
      const isKept = await store.caches.keep(caller, { ...report, process, confirmed: Number(confirmed) })
      if (!isKept) throw new Error("a later state has already been written")
      isFailing = false
    },
    after(ms, call) {
      const timer = setTimeout(call, ms).unref()
      return () => clearTimeout(timer)
    },
    onFailure(err) {
      if (!isFailing) log.warn({ err }, "the confirmed changes of the session caches could not be written: retrying")
      isFailing = true
    },
  })
  return {
    hubs,
    confirmed: cachesConfirmed({
      reach: feed.reach,
      async reports(tenant) {
        const signal = peerSignal(readMs)
        const rows = await orAborted(store.caches.list({ tenant, signal }), signal)
        return rows.map(({ leaseMs, confirmed }) => ({ leaseMs, confirmed: BigInt(confirmed) }))
      },
      now,
      pause: (ms) => delay(ms),
    }),
  }
}
