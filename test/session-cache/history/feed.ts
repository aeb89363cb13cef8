import type { ChangeFeed, Changes } from "../../../server/src/session-cache/changes.js"
import type { Process, Simulation } from "../simulation.js"
import type { Database } from "./database.js"

export interface FeedOptions {
  simulation: Simulation
  database: Database
  latency: () => number
  /** The process that the feed belongs to. */
  process: Process
  /** The clock of the positions. */
  now: () => number
}

/** The feed of a replica, which polls the log of the database. */
export function createFeed({ simulation, database, latency, process, now }: FeedOptions): ChangeFeed {
  const followers = new Set<{ tenant: string; listener: (changes: Changes) => void }>()
  let reaching: { at: number; tenant: string; resolve: (sequence: bigint) => void }[] = []
  /** The position in the log up to which the followers were notified. */
  let delivered = 0

  /** The last committed change of the tenant, as the service reads it from its database. */
  function lastOf(tenant: string, sequence: number): bigint {
    return BigInt(database.log.findLastIndex((change, index) => change.tenant === tenant && index < sequence) + 1)
  }

  function deliver(asOf: number, sequence: number): void {
    const changes = database.log.slice(delivered, sequence)
    delivered = sequence
    for (const { tenant, listener } of followers) {
      const own = changes.filter((change) => change.tenant === tenant)
      listener({
        asOf,
        sequence: lastOf(tenant, sequence),
        keys: own.flatMap(({ keys }) => keys),
        isOfAll: own.some(({ isOfAll }) => isOfAll),
        isReset: false,
      })
    }
    const asked = reaching
    reaching = []
    for (const one of asked) {
      if (one.at < asOf) one.resolve(lastOf(one.tenant, sequence))
      else reaching.push(one)
    }
  }

  function read(): void {
    const asOf = now()
    simulation.after(latency() / 3, () => {
      // The changes that this poll has found.
      const sequence = database.log.length
      simulation.after(latency() / 3, () =>
        process.do(() => {
          deliver(asOf, sequence)
          process.after(simulation.between(20, 60), read)
        }),
      )
    })
  }
  process.after(1, read)

  return {
    isOn: true,
    follow(tenant, listener) {
      const follower = { tenant, listener }
      followers.add(follower)
      return () => followers.delete(follower)
    },
    reach: (tenant) => new Promise((resolve) => reaching.push({ at: now(), tenant, resolve })),
  }
}
