import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import type { EventFeed } from "../events/feed.js"
import { cachesConfirmed } from "../session-cache/awaiting.js"
import { eventChanges } from "../session-cache/event-changes.js"
import { cacheHubs, type Hubs } from "../session-cache/hubs.js"
import type { Store } from "../store/store.js"
import { elapsedTime } from "../util/elapsed-time.js"

export interface SessionCaches {
  readonly hubs: Hubs
  /** Waits until no client of the tenant, of any process, uses what it kept of what was committed before. */
  confirmed(tenant: string, signal: AbortSignal): Promise<void>
}

/** How long a row may take to be written, in milliseconds: another try is better then. */
const writeMs = 5_000

/** What this process knows of clients that keep sessions in memory, and what it tells others of them. */
export function sessionCaches(deps: {
  store: Pick<Store, "caches" | "events">
  feed: EventFeed
  log: Logger
}): SessionCaches {
  const { store, log } = deps
  const process = randomUUID()
  const now = elapsedTime()
  const feed = eventChanges(deps.feed, store.events)
  let isFailing = false
  const hubs = cacheHubs({
    feed,
    now,
    async keep(tenant, { confirmed, ...row }) {
      const caller = { tenant, signal: AbortSignal.timeout(writeMs) }
      const isKept = await store.caches.keep(caller, { ...row, process, confirmed: Number(confirmed) })
      if (!isKept) throw new Error("a later one was written before")
      isFailing = false
    },
    after(ms, call) {
      const timer = setTimeout(call, ms).unref()
      return () => clearTimeout(timer)
    },
    onFailure(err) {
      if (!isFailing) log.warn({ err }, "what the session caches of clients know could not be written: trying again")
      isFailing = true
    },
  })
  return {
    hubs,
    confirmed: (tenant, signal) =>
      cachesConfirmed(
        {
          reach: () => feed.reach(tenant),
          async rows() {
            const rows = await store.caches.list({ tenant, signal })
            return rows.map(({ leaseMs, confirmed }) => ({ leaseMs, confirmed: BigInt(confirmed) }))
          },
          now,
          pause: (ms, signal) => delay(ms, undefined, { signal }),
        },
        signal,
      ),
  }
}
