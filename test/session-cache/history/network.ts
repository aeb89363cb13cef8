import { Code, ConnectError } from "@connectrpc/connect"
import type { FollowEvents, FollowStream } from "../../../client/src/session-cache/follower.js"
import type { FollowRequest } from "../../../server/src/session-cache/client-stream.js"
import type { HubStream } from "../../../server/src/session-cache/hub.js"
import type { Process, Simulation } from "../simulation.js"
import { clientTenant } from "./database.js"
import { living, type Replica } from "./replica.js"

export interface NetworkOptions {
  simulation: Simulation
  latency: () => number
  replicas: readonly Replica[]
  /** The `maxStaleMs` of all clients. */
  maxStaleMs: number
}

export interface NetworkFault {
  /** A replica forgets the lease of a stream that is cut. */
  noCut?: boolean
}

/** A stream from the point of view of the network. */
export interface Connection {
  replica: Replica
  cut: () => void
}

export interface Network {
  /** The streams that can be cut. */
  readonly connections: Set<Connection>
  /** Opens a stream from a client to one of the living replicas. */
  connect(client: Process, events: FollowEvents): FollowStream
}

/** A request of the client without content. */
const silence: FollowRequest = { maxStaleMs: 0, nonce: 0n, confirmed: 0n, done: false }

/**
 * Streams over a network that delays, blocks and cuts them. A stream ends with its replica, but the client may learn
 * that late.
 */
export function createNetwork(
  { simulation, latency, replicas, maxStaleMs }: NetworkOptions,
  fault: NetworkFault,
): Network {
  const connections = new Set<Connection>()

  /** Creates one direction of a stream. It delivers messages later, in the order in which they were sent. */
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
    /** Whether the client no longer receives anything from the stream. */
    let isOver = false
    const [toReplica, toClient] = [direction(), direction()]
    const up = (run: () => void) => toReplica(() => process.do(run))
    const down = (run: () => void) => toClient(() => client.do(() => isOver || run()))

    function cut(): void {
      process.do(() => {
        if (fault.noCut) stream?.receive({ ...silence, maxStaleMs, done: true })
        stream?.end()
      })
      // The client notices the end by itself, or never.
      if (simulation.chance(0.7))
        simulation.after(latency(), () =>
          client.do(() => {
            if (isOver) return
            isOver = true
            events.ended(new ConnectError("the connection is lost", Code.Unavailable))
          }),
        )
    }

    // Whether the replica may take pending messages. Otherwise it is about to, or is blocked.
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
      stream = hubs.open({ tenant: clientTenant, keyId: undefined }, { ready, fail: cut })
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
