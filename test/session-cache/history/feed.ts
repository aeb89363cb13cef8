import type { ChangeFeed, Look } from "../../../server/src/session-cache/feed.js"
import type { Process, Simulation } from "../simulation.js"
import type { Database } from "./database.js"

export interface FeedOptions {
  simulation: Simulation
  database: Database
  latency: () => number
  /** The process that the feed belongs to. */
  process: Process
}

export interface Feed extends ChangeFeed {
  /** How often a hub was created again for a tenant that had one before. */
  readonly again: number
}

/** The feed of a replica, which polls the log of the database. */
export function createFeed({ simulation, database, latency, process }: FeedOptions): Feed {
  const followers = new Set<{ tenant: string; listener: (look: Look) => void }>()
  let reaching: { at: number; tenant: string; resolve: (sequence: bigint) => void }[] = []
  /** The tenants that have had a hub. */
  const tenants = new Set<string>()
  let again = 0
  /** The position in the log up to which the followers were notified. */
  let told = 0

  /** The last committed change of the tenant, as the service reads it from its database. */
  function lastOf(tenant: string, sequence: number): number {
    const last = database.log.findLastIndex((change, index) => change.tenant === tenant && index < sequence) + 1
    return last > 0 ? last : sequence
  }

  function tell(began: number, sequence: number): void {
    const changes = database.log.slice(told, sequence)
    told = sequence
    for (const { tenant, listener } of followers) {
      const own = changes.filter((change) => change.tenant === tenant)
      listener({
        began,
        sequence: BigInt(sequence),
        keys: own.flatMap(({ keys }) => keys),
        isNews: own.length > 0,
        isBroken: false,
      })
    }
    const asked = reaching
    reaching = []
    for (const one of asked) {
      if (one.at < began) one.resolve(BigInt(lastOf(one.tenant, sequence)))
      else reaching.push(one)
    }
  }

  function look(): void {
    const began = process.now()
    simulation.after(latency() / 3, () => {
      // The changes that this poll has found.
      const sequence = database.log.length
      simulation.after(latency() / 3, () =>
        process.do(() => {
          tell(began, sequence)
          process.after(simulation.between(20, 60), look)
        }),
      )
    })
  }
  process.after(1, look)

  return {
    isOn: true,
    of(tenant) {
      if (tenants.has(tenant)) again++
      tenants.add(tenant)
      return {
        now: process.now,
        follow(listener) {
          const follower = { tenant, listener }
          followers.add(follower)
          return () => followers.delete(follower)
        },
      }
    },
    reach: (tenant) => new Promise((resolve) => reaching.push({ at: process.now(), tenant, resolve })),
    get again() {
      return again
    },
  }
}
