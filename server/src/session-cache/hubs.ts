import { Failure } from "../errors/failure.js"
import type { Owner } from "../util/owner.js"
import { type SharedLimit, sharedLimits, sharesOf } from "../util/shared-limits.js"
import type { ChangeFeed } from "./changes.js"
import type { HubClient } from "./client-stream.js"
import { type CacheReport, cacheHub, type Hub, type HubOptions, type HubStream } from "./hub.js"

export interface HubsOptions extends Pick<HubOptions, "now" | "elapsed" | "after" | "onFailure"> {
  feed: ChangeFeed
  /**
   * Writes the report of this process for a tenant, which expires after `ms` milliseconds. Of two calls the one with the
   * higher version wins, in whatever order the database executes them. Rejects if it may not have been written.
   */
  write(tenant: string, report: CacheReport & { ms: number; version: number }): Promise<void>
  /** The limit of open streams. */
  limit?: SharedLimit
}

export interface Hubs {
  /** Whether changes are delivered. */
  readonly isOn: boolean
  /** Opens a stream. Throws OVERLOADED. */
  open(owner: Owner, client: HubClient): HubStream
  /** The numbers of open streams and of valid leases, of all tenants. */
  readonly load: Hub["load"]
  /** The number of tenants that have a hub. */
  readonly tenants: number
  /** Stops writing reports. */
  stop(): void
}

/**
 * Creates a hub for each tenant that has clients, so that no tenant waits for the clients of another.
 *
 * A hub is removed when it has no stream, no valid lease and no pending write. A new hub is created when the tenant has
 * a stream again. Both write the same report, that of the process and the tenant. Versions are counted per process and
 * not per hub, so a late write of the removed hub never replaces the report of its successor. The successor grants no
 * lease before its own report is written, and the one that this replaces was about leases that have expired.
 */
export function cacheHubs({ feed, write, limit = sharedLimits.cacheStreams, ...options }: HubsOptions): Hubs {
  const hubs = new Map<string, Hub>()
  const shares = sharesOf(limit)
  let version = 0

  function hubOf(tenant: string): Hub {
    let hub = hubs.get(tenant)
    if (hub === undefined) {
      hub = cacheHub({
        ...options,
        follow: (listener) => feed.follow(tenant, listener),
        write: (report, ms) => write(tenant, { ...report, ms, version: ++version }),
        onIdle: () => hubs.delete(tenant),
      })
      hubs.set(tenant, hub)
    }
    return hub
  }

  return {
    isOn: feed.isOn,
    open(owner, client) {
      const streams = shares(owner)
      const holder = streams.takeOrHolder(1)
      if (holder !== undefined) throw tooMany(holder)
      const stream = hubOf(owner.tenant).open(client)
      let isOpen = true
      return {
        ...stream,
        end() {
          stream.end()
          if (isOpen) streams.give(1)
          isOpen = false
        },
      }
    },
    get load() {
      let [streams, leases] = [0, 0]
      for (const { load } of hubs.values()) {
        streams += load.streams
        leases += load.leases
      }
      return { streams, leases }
    },
    get tenants() {
      return hubs.size
    },
    stop() {
      for (const hub of hubs.values()) hub.stop()
    },
  }
}

function tooMany(whose: string): Failure {
  const message = `${whose} has reached the limit of streams for session caches`
  return new Failure("OVERLOADED", { retryAfterMs: 10_000, message })
}
