import { Failure } from "../errors.js"
import type { Connection } from "./connection.js"
import { limits } from "./limits.js"

/** Bounds the streams of methods that need no key, of all listeners of a process. */
export interface OpenMethods {
  /**
   * Takes a place for a stream, which `leave` gives back. Where there are too many in all, the oldest of the connection
   * that has most is cut for it: so nobody keeps others from asking how the service is.
   *
   * @returns RATE_LIMITED if the connection has too many of them, or makes too many requests.
   */
  enter(connection: Connection, stream: OpenStream): Failure | undefined
  leave(connection: Connection, stream: OpenStream): void
}

export interface OpenStream {
  cut(): void
}

export function openMethods(): OpenMethods {
  const holders = new Map<Connection, Set<OpenStream>>()
  let inAll = 0

  const leave = (connection: Connection, stream: OpenStream): void => {
    const streams = holders.get(connection)
    if (streams?.delete(stream) !== true) return
    inAll--
    if (streams.size === 0) holders.delete(connection)
  }

  const cutOne = (): void => {
    let most: [Connection, Set<OpenStream>] | undefined
    for (const holder of holders) if (most === undefined || holder[1].size > most[1].size) most = holder
    if (most === undefined) return
    const [oldest] = most[1]
    if (oldest === undefined) return
    leave(most[0], oldest)
    oldest.cut()
  }

  return {
    enter(connection, stream) {
      const tooFast = tooManyRequests(connection)
      if (tooFast !== undefined) return tooFast
      const streams = holders.get(connection) ?? new Set()
      if (streams.size >= limits.openStreams)
        return new Failure("RATE_LIMITED", { retryAfterMs: 1_000, message: tooMany })
      if (inAll >= limits.openStreamsInAll) cutOne()
      holders.set(connection, streams.add(stream))
      inAll++
      return undefined
    },
    leave,
  }
}

const tooMany = "the connection has too many streams of methods that need no API key"

/** RATE_LIMITED if a connection makes too many requests to methods that need no key. */
export function tooManyRequests(connection: Connection): Failure | undefined {
  const retryAfterMs = connection.takeOpenRequest()
  if (retryAfterMs === 0) return undefined
  const message = "the connection makes too many requests that need no API key"
  return new Failure("RATE_LIMITED", { retryAfterMs, message })
}
