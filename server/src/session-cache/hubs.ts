import { Failure } from "../errors/failure.js"
import { type StreamLimits, streamLimit } from "../util/stream-limit.js"
import type { ChangeFeed } from "./changes.js"
import type { HubClient } from "./client-stream.js"
import { type CacheReport, cacheHub, type Hub, type HubOptions, type HubStream } from "./hub.js"

export interface HubsOptions extends Pick<HubOptions, "now" | "after" | "onFailure"> {
  feed: ChangeFeed
  /**
   * Writes the report of this process for a tenant, which expires after `ms` milliseconds. Of two calls the one with the
   * higher version wins, in whatever order the database executes them. Rejects if it may not have been written.
   */
  write(tenant: string, report: CacheReport & { ms: number; version: number }): Promise<void>
  limits?: HubLimits
}

/** The largest numbers of open streams: of one API key, of one tenant, and in all. */
export interface HubLimits extends StreamLimits {
  readonly ofTenant: number
}

export interface Hubs {
  /** Whether changes are delivered. */
  readonly isOn: boolean
  /** Opens a stream. Throws OVERLOADED. */
  open(who: { tenant: string; key: string }, client: HubClient): HubStream
  /** The numbers of open streams and of valid leases, of all tenants. */
  readonly load: Hub["load"]
  /** The number of tenants that have a hub. */
  readonly tenants: number
  /** Stops writing reports. */
  stop(): void
}

const defaultLimits: HubLimits = { ofKey: 500, ofTenant: 1_000, inAll: 2_000 }

/**
 * Creates a hub for each tenant that has clients, so that no tenant waits for the clients of another.
 *
 * A hub is removed when it has no stream, no valid lease and no pending write. A new hub is created when the tenant has
 * a stream again. Both write the same report, that of the process and the tenant. Versions are counted per process and
 * not per hub, so a late write of the removed hub never replaces the report of its successor. The successor grants no
 * lease before its own report is written, and the one that this replaces was about leases that have expired.
 */
export function cacheHubs({ feed, write, limits = defaultLimits, ...options }: HubsOptions): Hubs {
  const hubs = new Map<string, Hub>()
  const enter = streamLimit(limits, tooMany)
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
    open({ tenant, key }, client) {
      if ((hubs.get(tenant)?.load.streams ?? 0) >= limits.ofTenant) throw tooMany("the tenant")
      const leave = enter(key)
      const stream = hubOf(tenant).open(client)
      return {
        ...stream,
        end() {
          stream.end()
          leave()
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
