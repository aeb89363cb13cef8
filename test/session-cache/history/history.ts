import { Simulation } from "../simulation.js"
import { type Checks, createChecks } from "./checks.js"
import { type Client, type ClientFault, startClient } from "./client.js"
import { Database, tokens } from "./database.js"
import { playFailures } from "./failures.js"
import { createNetwork, type NetworkFault } from "./network.js"
import { playOtherTenant } from "./other-tenant.js"
import { type ReplicaFault, startReplica } from "./replica.js"
import { createService, type ServiceFault } from "./service.js"

/** The parts of the protocol that are removed, to test that the histories detect it. */
export type Fault = ClientFault & NetworkFault & ReplicaFault & ServiceFault

/** The result of a history. */
export interface Played {
  /** The violations that were found. */
  broken: string[]
  /** The number of reads that were answered from the cache. */
  hits: number
  /** The number of revocations that were acknowledged after they had waited for the caches. */
  acks: number
}

/** The duration of a history, in milliseconds. */
const lengthMs = 6_000

/** Runs one random history. The same seed always gives the same history. */
export async function history(seed: number, fault: Fault = {}): Promise<Played> {
  const simulation = new Simulation(seed)
  const database = new Database(simulation)

  const slowness = simulation.pick([0.01, 0.03, 0.15])
  /** Returns the duration of a message or a statement, in milliseconds, which is usually short. */
  const latency = () => (simulation.chance(slowness) ? simulation.between(100, 1_500) : simulation.between(1, 25))

  const start = (name: string) => startReplica({ simulation, database, latency }, name, fault)
  const replicas = [start("a"), start("b")]
  const service = createService({ simulation, database, latency, replicas }, fault)

  const maxStaleMs = simulation.pick([200, 500, 1_000])
  const network = createNetwork({ simulation, latency, replicas, maxStaleMs }, fault)
  const clients = Array.from({ length: 3 }, () => startClient({ simulation, network, service, maxStaleMs }, fault))
  const checks = createChecks({ simulation, database, maxStaleMs })

  playOtherTenant({ simulation, database, replicas })
  for (const client of clients) playReads(simulation, client, checks)
  playWrites(simulation, clients)
  playFailures({ simulation, network, clients, checks, replicas, start })
  await simulation.run(lengthMs)

  return { broken: checks.broken, hits: checks.hits, acks: service.acks }
}

/** Makes one client read repeatedly. */
function playReads(simulation: Simulation, client: Client, checks: Checks): void {
  const read = () => {
    client.process.do(() => checks.read(client, simulation.pick(tokens)))
    simulation.after(simulation.between(5, 120), read)
  }
  simulation.after(simulation.between(0, 50), read)
}

/** Makes a random client write at random times. */
function playWrites(simulation: Simulation, clients: readonly Client[]): void {
  const write = () => {
    const client = simulation.pick(clients)
    client.process.do(client.write)
    simulation.after(simulation.between(100, 2_000), write)
  }
  simulation.after(simulation.between(300, 1_500), write)
}
