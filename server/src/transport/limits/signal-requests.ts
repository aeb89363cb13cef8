import { buckets } from "../../rpc/interceptors/rate-limit.js"
import type { Connection } from "./connection.js"
import { limits } from "./limits.js"
import { type OpenStream, slots } from "./open-methods.js"

/** Limits the requests with signals, which need no key, of one address, of one connection and of all. */
export interface SignalRequests {
  /**
   * Admits a request. If there are too many in total, the oldest one of the connection with the most is aborted.
   *
   * @returns 0, or the time after which another one is admitted, in milliseconds.
   */
  enter(address: string, connection: Connection, request: OpenStream): number
  leave(connection: Connection, request: OpenStream): void
}

export function signalRequests(): SignalRequests {
  const open = slots(limits.openStreams, limits.openStreamsInAll)
  const take = buckets(limits.signalsPerSecond, () => performance.now(), limits.signalBurst)
  return {
    enter(address, connection, request) {
      const waitMs = take(address)
      if (waitMs > 0) return waitMs
      return open.enter(connection, request)?.retryAfterMs ?? 0
    },
    leave: open.leave,
  }
}
