import { Code, ConnectError } from "@connectrpc/connect"
import type { FallbackLog } from "../transport/fallback-log.js"
import type { SessionCache } from "./cache.js"
import { suspensionMs } from "./clock.js"

/** A request of the Follow stream; see FollowRequest in the schema. Absent numbers are 0. */
export interface FollowRequest {
  maxStaleMs?: number
  nonce?: bigint
  confirmed?: bigint
  done?: boolean
}

/** A response of the Follow stream; see FollowResponse in the schema. */
export interface FollowResponse {
  keys: readonly string[]
  reset: boolean
  sequence: bigint
  nonce: bigint
}

/** An open stream of SessionCacheService.Follow. */
export interface FollowStream {
  send(request: FollowRequest): void
  /** Tells the service that the client no longer uses its cache, and closes the client's side of the stream. */
  finish(): void
  /** Ends the stream at once. */
  cancel(): void
}

export interface FollowEvents {
  message(response: FollowResponse): void
  /** Called when the stream has ended, with the reason. No other event follows. */
  ended(error: ConnectError): void
}

export interface FollowerOptions {
  cache: SessionCache
  maxStaleMs: number
  /** A clock for durations, in milliseconds. */
  now: () => number
  /** Calls a function after a delay. The returned function cancels the call. */
  after: (ms: number, call: () => void) => () => void
  connect: (events: FollowEvents) => FollowStream
  /** Returns a random number from 0 to 1. */
  random: () => number
  /** Logs when no stream gives the cache a lease, so that every read is a call. */
  uncachedReads: FallbackLog
}

/** Keeps the lease of a cache valid while the cache is used. */
export interface Follower {
  /** Must be called at each read of a session. Opens a stream if none is open and no pause is in progress. */
  used(): void
  /** Ends the stream and the lease. The cache can no longer be used. */
  close(): void
}

/** The idle time after which a stream ends, in milliseconds. An open stream keeps the process alive. */
export const idleMs = 10_000
/** The pause after the first failure, in ms. Each further one doubles it; a random part of a half is taken off. */
const minPauseMs = 100
const maxPauseMs = 10_000
/** How much longer than the lease a ping may go unanswered before the stream is cancelled, in milliseconds. */
const silentMs = 3_000

/**
 * Follows the changes that the service announces and applies them to a cache. A lease begins when a ping is sent that
 * the service answers. It ends `maxStaleMs` later, less the inaccuracy of the clock. The cache is emptied when a stream
 * ends for any reason.
 */
export function follower(options: FollowerOptions): Follower {
  const { cache, maxStaleMs, now, after, connect, random, uncachedReads } = options
  const intervalMs = maxStaleMs / 4
  let stream: FollowStream | undefined
  let usedAt = Number.NEGATIVE_INFINITY
  let retryAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let closed = false

  function open(): void {
    let nonce = 0n
    let sentAt = 0
    let cancelTimer = () => {}
    let isOver = false
    let hasLease = false

    function over(): void {
      isOver = true
      cancelTimer()
      cache.cut()
      if (stream === current) stream = undefined
    }

    function failed(error: ConnectError): void {
      over()
      if (!hasLease) uncachedReads.used(error)
      const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** failures)
      failures++
      retryAt = now() + pauseMs * (1 - random() / 2)
    }

    function ping(first: FollowRequest = {}): void {
      if (isOver) return
      if (closed || now() - usedAt > idleMs) {
        over()
        current.finish()
        return
      }
      nonce++
      // Read before the ping is sent, so that the lease ends no later than the service assumes.
      sentAt = now()
      cancelTimer = after(maxStaleMs + silentMs, () => {
        if (isOver) return
        failed(new ConnectError("the service does not answer", Code.DeadlineExceeded))
        current.cancel()
      })
      current.send({ ...first, nonce })
    }

    const current = connect({
      message({ keys, reset, sequence, nonce: answered }) {
        if (isOver) return
        if (reset) cache.clear()
        cache.drop(keys)
        if (reset || keys.length > 0) current.send({ confirmed: sequence })
        if (answered === 0n || answered !== nonce) return
        failures = 0
        hasLease = true
        uncachedReads.over()
        cache.grant(sentAt + maxStaleMs - suspensionMs)
        cancelTimer()
        cancelTimer = after(Math.max(0, sentAt + intervalMs - now()), ping)
      },
      ended(error) {
        if (!isOver) failed(error)
      },
    })
    stream = current
    ping({ maxStaleMs })
  }

  return {
    used() {
      usedAt = now()
      if (stream === undefined && !closed && usedAt >= retryAt) open()
    },
    close() {
      closed = true
      const open = stream
      stream = undefined
      cache.cut()
      open?.finish()
    },
  }
}
