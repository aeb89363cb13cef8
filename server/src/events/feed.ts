import { setTimeout as delay } from "node:timers/promises"
import type { EventStore } from "../store/store.js"
import { atMost } from "../util/at-most.js"
import { oncePer } from "../util/once-per.js"
import type { FeedSubscriber, Subscription } from "./subscription.js"
import { type TenantFeed, tenantFeed } from "./tenant-feed.js"

/** Observes a feed. */
export interface FeedObserver {
  /** Records the current number of subscribers. */
  subscribers(count: number): void
  /** Records a read of events. `lagMs`: the time since the first one was written, by the clock of the feed's options. */
  read(count: number, lagMs: number): void
}

/**
 * Reads the events of each tenant that has subscribers in this process, once for all of them, in their order, each exactly once. Nothing
 * is read of a tenant without subscribers. The polls of all tenants share statements, and no tenant waits for another.
 */
export interface EventFeed {
  /** The clock of the positions: the monotonic one, in milliseconds. */
  now(): number
  /** Adds a subscriber. While the database fails, the delivery does not begin. */
  subscribe(subscriber: FeedSubscriber): Subscription
  /**
   * Reads the events of a tenant now. When it resolves, everything of the tenant that any process committed before the call has been
   * delivered, and has the returned sequence or a lower one, which is that of the tenant's last event. Throws what the store throws.
   */
  flush(tenant: string): Promise<number>
  /** Stops reading. Never throws. */
  stop(): Promise<void>
}

export interface EventFeedOptions {
  events: Pick<EventStore, "sequence" | "read" | "history">
  /** Called when the events of a tenant cannot be read, once until those of all tenants are read again. */
  onFailure?: ((error: unknown) => void) | undefined
  observer?: FeedObserver | undefined
  /** Returns the time of the database's clock, in milliseconds since 1970, for the observer. Default: Date.now. */
  clock?: () => number
  /** The pause between two polls, in milliseconds. Default: 50. */
  pollMs?: number | undefined
}

/** For how many tenants something is read or assigned at the same time, so that calls have most of the connections. */
const tenantsAtOnce = 4

export function eventFeed(options: EventFeedOptions): EventFeed {
  const { events, observer, onFailure, clock = Date.now, pollMs = 50 } = options
  const now = () => performance.now()
  const stopping = new AbortController()
  const { signal } = stopping
  const turn = atMost(tenantsAtOnce)
  const feeds = new Set<TenantFeed>()
  const failing = new Set<string>()
  let subscribers = 0
  let poll: Promise<void> | undefined

  function nextPoll(): Promise<void> {
    poll ??= delay(pollMs, undefined, { signal, ref: false })
      .catch(() => {})
      .finally(() => {
        poll = undefined
      })
    return poll
  }

  // Callers can create a limited number of tenants only.
  const feedOf = oncePer((tenant: string) => {
    const feed = tenantFeed({
      ...{ tenant, events, signal, now, turn, nextPoll },
      onRead: (found) => observer?.read(found.length, Math.max(0, clock() - found[0].created.getTime())),
      onPoll(error) {
        if (error === undefined) {
          failing.delete(tenant)
          return
        }
        if (failing.size === 0) onFailure?.(error)
        failing.add(tenant)
      },
    })
    feeds.add(feed)
    return feed
  })
  const count = (change: number) => {
    subscribers += change
    observer?.subscribers(subscribers)
  }

  return {
    now,

    subscribe(subscriber) {
      const { start, end } = feedOf(subscriber.tenant).subscribe(subscriber)
      let isOpen = true
      count(1)
      return {
        start,
        end() {
          end()
          if (isOpen) count(-1)
          isOpen = false
        },
      }
    },

    flush: (tenant) => feedOf(tenant).flush(),

    async stop() {
      stopping.abort()
      for (const feed of feeds) await feed.ended()
    },
  }
}
