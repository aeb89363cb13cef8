import type { DescMethod } from "@bufbuild/protobuf"
import { Failure } from "../../errors/failure.js"
import { bucket } from "../../rpc/interceptors/rate-limit.js"
import type { Connection } from "./connection.js"
import { limits } from "./limits.js"

/** Limits the streams and requests of methods that require no key, over all listeners of a process. */
export interface OpenMethods {
  /**
   * Admits a stream and takes a slot for it, which `leave` releases. If there are too many streams in total, the oldest
   * stream of the connection with the most streams is aborted to free a slot. No client can therefore prevent others from
   * checking the service's health.
   *
   * @returns RATE_LIMITED if the connection has too many of these streams or makes too many requests.
   */
  enter(method: DescMethod, connection: Connection, stream: OpenStream): Failure | undefined
  leave(method: DescMethod, connection: Connection, stream: OpenStream): void
  /** Counts another request of a stream. @returns RATE_LIMITED if there are too many. */
  request(method: DescMethod, connection: Connection): Failure | undefined
}

export interface OpenStream {
  cut(): void
}

export function openMethods(): OpenMethods {
  const health = slots(limits.openStreams, limits.openStreamsInAll)
  // Reflection has lower limits, because its answers are large and it is rarely used.
  const reflection = slots(limits.reflectionStreams, limits.reflectionStreamsInAll)
  const takeReflection = bucket(limits.reflectionPerSecondInAll, () => performance.now())
  const isReflection = ({ parent }: DescMethod) => parent.typeName.startsWith("grpc.reflection.")
  const slotsOf = (method: DescMethod) => (isReflection(method) ? reflection : health)

  const request = (method: DescMethod, connection: Connection): Failure | undefined => {
    const retryAfterMs = isReflection(method) ? takeReflection() : connection.takeHealthRequest()
    if (retryAfterMs === 0) return undefined
    connection.countUnauthenticated()
    return new Failure("RATE_LIMITED", { retryAfterMs, message: tooFast })
  }

  return {
    request,
    enter: (method, connection, stream) => request(method, connection) ?? slotsOf(method).enter(connection, stream),
    leave: (method, connection, stream) => slotsOf(method).leave(connection, stream),
  }
}

/** Creates slots for streams of callers without a key: so many of one connection, and so many of all. */
export function slots(perConnection: number, most: number) {
  const holders = new Map<Connection, Set<OpenStream>>()
  let inAll = 0

  const leave = (connection: Connection, stream: OpenStream): void => {
    const streams = holders.get(connection)
    if (streams?.delete(stream) !== true) return
    inAll--
    if (streams.size === 0) holders.delete(connection)
  }

  const cutOne = (): void => {
    let largest: [Connection, Set<OpenStream>] | undefined
    for (const holder of holders) if (largest === undefined || holder[1].size > largest[1].size) largest = holder
    if (largest === undefined) return
    const [oldest] = largest[1]
    if (oldest === undefined) return
    leave(largest[0], oldest)
    oldest.cut()
  }

  const enter = (connection: Connection, stream: OpenStream): Failure | undefined => {
    const streams = holders.get(connection) ?? new Set()
    if (streams.size >= perConnection) return new Failure("RATE_LIMITED", { retryAfterMs: 1_000, message: tooMany })
    if (inAll >= most) cutOne()
    holders.set(connection, streams.add(stream))
    inAll++
    return undefined
  }

  return { enter, leave }
}

const tooMany = "the connection has too many streams of methods that need no API key"
const tooFast = "there are too many requests that need no API key"
