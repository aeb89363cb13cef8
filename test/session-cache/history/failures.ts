import type { Simulation } from "../simulation.js"
import type { Checks } from "./checks.js"
import type { Client } from "./client.js"
import { tokens } from "./database.js"
import type { Network } from "./network.js"
import { living, type Replica } from "./replica.js"

export interface FailuresOptions {
  simulation: Simulation
  network: Network
  clients: readonly Client[]
  checks: Checks
  /** All replicas of the history. A killed replica is replaced by a new one. */
  replicas: Replica[]
  start: (name: string) => Replica
}

/** Injects failures at random times: cuts streams, freezes processes, sets clocks forward, and kills replicas. */
export function playFailures({ simulation, network, clients, checks, replicas, start }: FailuresOptions): void {
  const { connections } = network

  function cutStreams(): void {
    const open = [...connections]
    const one = simulation.pick(open)
    // One stream, or all of its replica. In the latter case the replica removes its hub when the leases have expired.
    const cut = simulation.chance(0.5) ? [one] : open.filter(({ replica }) => replica === one.replica)
    for (const connection of cut) {
      connections.delete(connection)
      connection.cut()
    }
  }

  function freezeClient(): void {
    const client = simulation.pick(clients)
    client.process.freeze(simulation.between(20, 2_500), simulation.chance(0.5))
    // A read that was about to run when the client was frozen. It runs before anything that arrives meanwhile.
    client.process.do(() => {
      for (const token of tokens) checks.read(client, token)
    })
  }

  function freezeReplica(): void {
    simulation.pick(replicas).process.freeze(simulation.between(20, 2_500), simulation.chance(0.5))
  }

  function setClock(): void {
    // A client whose clock was set forward has no lease, so it could not violate anything.
    const { process } = simulation.chance(0.1) ? simulation.pick(clients) : simulation.pick(living(replicas))
    process.setForward(simulation.between(20, 900_000))
    simulation.after(simulation.between(20, 400), setClock)
  }
  if (simulation.chance(0.5)) simulation.after(simulation.between(200, 2_000), setClock)

  function killReplica(): void {
    const dead = simulation.pick(living(replicas))
    dead.process.kill()
    for (const { replica, cut } of [...connections]) if (replica === dead) cut()
    replicas.push(start(`${dead.name}'`))
  }

  function fail(): void {
    const kind = simulation.random()
    if (kind < 0.3 && connections.size > 0) cutStreams()
    else if (kind < 0.6) freezeClient()
    else if (kind < 0.8) freezeReplica()
    else if (kind < 0.87 && living(replicas).length > 1) killReplica()
    simulation.after(simulation.between(200, 2_500), fail)
  }
  simulation.after(simulation.between(200, 2_000), fail)
}
