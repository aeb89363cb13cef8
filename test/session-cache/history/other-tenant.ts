import type { Simulation } from "../simulation.js"
import type { Database } from "./database.js"
import type { Replica } from "./replica.js"

const tenant = "other"

export interface OtherTenantOptions {
  simulation: Simulation
  database: Database
  replicas: readonly Replica[]
}

/**
 * Simulates another tenant with many changes. In half of the histories it has a client at each replica that never
 * confirms.
 */
export function playOtherTenant({ simulation, database, replicas }: OtherTenantOptions): void {
  if (simulation.chance(0.5)) for (const replica of replicas) openStubborn(replica)
  const change = () => {
    database.commit(["elsewhere"], tenant)
    simulation.after(simulation.between(50, 1_000), change)
  }
  change()
}

/** Opens a client that keeps renewing the longest lease and never confirms. */
function openStubborn({ process, hubs }: Replica): void {
  const ping = { maxStaleMs: 10_000, nonce: 1n, confirmed: 0n, done: false }
  const stream = hubs.open(
    { tenant, keyId: "other" },
    {
      ready: () =>
        process.after(1, () => {
          const news = stream.take()
          if (news !== undefined && news.nonce > 0n) stream.receive({ ...ping, nonce: news.nonce + 1n })
        }),
      fail: () => {},
    },
  )
  stream.receive(ping)
}
