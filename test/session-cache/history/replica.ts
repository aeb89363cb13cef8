import type { ChangeFeed } from "../../../server/src/session-cache/changes.js"
import { cacheHubs, type Hubs } from "../../../server/src/session-cache/hubs.js"
import { Process, type Simulation } from "../simulation.js"
import type { Database, StoredRow } from "./database.js"
import { createFeed } from "./feed.js"

export interface ReplicaOptions {
  simulation: Simulation
  database: Database
  latency: () => number
}

export interface ReplicaFault {
  /** The clock of the leases that a replica has granted jumps ahead with the wall clock. */
  jumps?: boolean
}

/** A process of the service. */
export interface Replica {
  name: string
  process: Process
  /** The clock of its leases and of its feed. */
  now: () => number
  feed: ChangeFeed
  /** The hubs of the real service. */
  hubs: Hubs
}

export function startReplica(
  { simulation, database, latency }: ReplicaOptions,
  name: string,
  fault: ReplicaFault,
): Replica {
  const process = new Process(simulation)
  const now = fault.jumps ? process.elapsed : process.now
  const feed = createFeed({ simulation, database, latency, process, now })

  /** Writes the row of this replica for a tenant. In 1 of 20 cases the connection is lost during the write. */
  async function writeRow(tenant: string, row: StoredRow): Promise<void> {
    const isLost = simulation.chance(0.05)
    const write = () => database.writeRow(tenant, name, row)
    // It is unknown whether the row was written. It may be written much later.
    if (isLost) {
      if (simulation.chance(0.7)) simulation.after(simulation.between(1, 3_000), write)
      await simulation.delay(latency())
      throw new Error("the connection was lost")
    }
    await simulation.delay(latency())
    write()
    await simulation.delay(latency())
  }

  const write = (tenant: string, row: StoredRow) => process.see(writeRow(tenant, row))
  const { elapsed, after } = process
  const hubs = cacheHubs({ feed, write, now, elapsed, after })
  return { name, process, now, feed, hubs }
}

/** Returns the replicas that have not been killed. */
export function living(replicas: readonly Replica[]): Replica[] {
  return replicas.filter(({ process }) => !process.isDead)
}
