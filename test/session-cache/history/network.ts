import type { FollowEvents, FollowStream } from "../../../client/src/session-cache/follower.js"
import type { HubStream, Ping } from "../../../server/src/session-cache/hub.js"
import type { Process, Simulation } from "../simulation.js"
import { clientTenant } from "./database.js"
import { living, type Replica } from "./replica.js"

export interface NetworkOptions {
  simulation: Simulation
  latency: () => number
  replicas: readonly Replica[]
  /** That of all clients. */
  maxStaleMs: number
}

export interface NetworkFault {
  /** A replica forgets the lease of a stream that is cut. */
  noCut?: boolean
}

/** A stream as the network sees it. */
export interface Connection {
  replica: Replica
  cut: () => void
}

export interface Network {
  /** The streams that may be cut. */
  readonly connections: Set<Connection>
  /** Opens a stream from a client to one of the living replicas. */
  connect(client: Process, events: FollowEvents): FollowStream
}

/** What a client says that says nothing. */
const silence: Ping = { maxStaleMs: 0, nonce: 0n, confirmed: 0n, done: false }

/** Streams over a network that delays, holds up and cuts. They end when their replica ends, but nobody is told in time. */
export function createNetwork(
  { simulation, latency, replicas, maxStaleMs }: NetworkOptions,
  fault: NetworkFault,
): Network {
  const connections = new Set<Connection>()

  /** One direction of a stream: it delivers later, in the order in which it was sent. */
  function direction() {
    let at = 0
    return (deliver: () => void) => {
      at = Math.max(at, simulation.time + latency())
      simulation.after(at - simulation.time, deliver)
    }
  }

  function connect(client: Process, events: FollowEvents): FollowStream {
    const replica = simulation.pick(living(replicas))
    const { process, hubs } = replica
    let stream: HubStream | undefined
    /** Whether the client hears nothing of the stream any more. */
    let isOver = false
    const [toReplica, toClient] = [direction(), direction()]
    const up = (run: () => void) => toReplica(() => process.do(run))
    const down = (run: () => void) => toClient(() => client.do(() => isOver || run()))

    function cut(): void {
      process.do(() => {
        if (fault.noCut) stream?.receive({ ...silence, maxStaleMs, done: true })
        stream?.end()
      })
      // The client hears of it by itself, or never.
      if (simulation.chance(0.7))
        simulation.after(latency(), () =>
          client.do(() => {
            if (isOver) return
            isOver = true
            events.ended(new Error("the stream was cut"))
          }),
        )
    }

    // Whether the replica may take what there is to tell; else it is about to, or held up.
    let mayTake = true
    function take(): void {
      mayTake = true
      const news = stream?.take()
      if (news !== undefined) down(() => events.message(news))
    }
    function ready(): void {
      if (!mayTake) return
      mayTake = false
      process.after(simulation.chance(0.02) ? 800 : 0.1, take)
    }

    up(() => {
      stream = hubs.open({ tenant: clientTenant, key: "" }, { ready, fail: cut })
    })
    connections.add({ replica, cut })
    return {
      send: (request) => up(() => stream?.receive({ ...silence, ...request })),
      finish() {
        isOver = true
        up(() => stream?.receive({ ...silence, done: true }))
        up(() => stream?.end())
      },
      cancel() {
        isOver = true
        up(() => stream?.end())
      },
    }
  }

  return { connections, connect }
}
