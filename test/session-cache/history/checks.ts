import type { Simulation } from "../simulation.js"
import type { Client } from "./client.js"
import type { Database } from "./database.js"

export interface ChecksOptions {
  simulation: Simulation
  database: Database
  maxStaleMs: number
}

export interface Checks {
  /** Makes a client read a session, and compares the result of its cache with the truth. */
  read(client: Client, token: string): void
  /** The violations that were found. */
  readonly broken: string[]
  /** The number of reads that were answered from the cache. */
  readonly hits: number
}

export function createChecks({ simulation, database, maxStaleMs }: ChecksOptions): Checks {
  const broken: string[] = []
  let hits = 0

  function read(client: Client, token: string): void {
    const found = client.read(token)
    if (found === undefined) return
    hits++
    const at = simulation.time
    for (const [name, version] of found) {
      const end = database.endOf(name, version)
      // The maximum by which the clock of a process may be slow.
      if (end !== undefined && at - end > maxStaleMs / 0.992)
        broken.push(`${name} was read ${Math.round(at - end)} ms after it had changed`)
      if ((client.written.get(name) ?? 0) > version) broken.push(`${name} was read as it was before an own write`)
    }
    const ack = database.acknowledgedAt(token)
    if (ack !== undefined) broken.push(`${token} was read ${Math.round(at - ack)} ms after its end was acknowledged`)
    if (client.deleted.has(token)) broken.push(`${token} was read after its end by the same client`)
  }

  return {
    read,
    broken,
    get hits() {
      return hits
    },
  }
}
