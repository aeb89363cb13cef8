import type { SessionCache } from "./cache.js"
import { suspensionMs } from "./clock.js"

/** See FollowRequest; what is absent is 0. */
export interface FollowRequest {
  maxStaleMs?: number
  nonce?: bigint
  confirmed?: bigint
  done?: boolean
}

/** See FollowResponse. */
export interface FollowResponse {
  keys: readonly string[]
  reset: boolean
  sequence: bigint
  nonce: bigint
}

/** An open stream of SessionCacheService.Follow. */
export interface FollowStream {
  send(request: FollowRequest): void
  /** Says that the client uses nothing any more, and closes its side. */
  finish(): void
  /** Ends the stream at once. */
  cancel(): void
}

export interface FollowEvents {
  message(response: FollowResponse): void
  /** The stream is over. Nothing comes after it. */
  ended(error: Error | undefined): void
}

export interface FollowerOptions {
  cache: SessionCache
  maxStaleMs: number
  /** A clock for durations, in milliseconds. */
  now: () => number
  /** Calls later, unless the function that it returns is called before. */
  after: (ms: number, call: () => void) => () => void
  connect: (events: FollowEvents) => FollowStream
  /** A number from 0 to 1. */
  random: () => number
  /** Hears that the service does not carry the stream, or why a stream failed. */
  onFailure: (error: Error) => void
}

/** Keeps the lease of a cache alive while it is used. */
export interface Follower {
  /** Somebody reads sessions: opens a stream where none is open. */
  used(): void
  /** Ends it; the cache is not used any more. */
  close(): void
}

/** A stream that nobody has used for so long ends, in milliseconds: it keeps the process alive. */
export const idleMs = 10_000
/** The pause after a failure, in milliseconds: doubled with each, less up to a half by chance. */
const minPauseMs = 100
const maxPauseMs = 10_000
/** What a ping may take beside the time that a lease lasts before the stream is given up, in milliseconds. */
const silentMs = 3_000

/**
 * Follows the service for a cache: a lease begins when the ping was sent that the service has answered, and ends
 * `maxStaleMs` later. Whatever becomes of a stream, the cache is empty after it.
 */
export function follower(options: FollowerOptions): Follower {
  const { cache, maxStaleMs, now, after, connect, random, onFailure } = options
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

    function over(): void {
      isOver = true
      cancelTimer()
      cache.cut()
      if (stream === current) stream = undefined
    }

    function failed(error: Error | undefined): void {
      over()
      const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** failures)
      failures++
      retryAt = now() + pauseMs * (1 - random() / 2)
      if (error !== undefined) onFailure(error)
    }

    function ping(first: FollowRequest = {}): void {
      if (isOver) return
      if (closed || now() - usedAt > idleMs) {
        over()
        current.finish()
        return
      }
      nonce++
      // Before it is sent: the lease ends no later than the service believes.
      sentAt = now()
      cancelTimer = after(maxStaleMs + silentMs, () => {
        if (isOver) return
        failed(new Error("the service does not answer the pings of the session cache"))
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
