import { createHash } from "node:crypto"
import { Client } from "@grpc/grpc-js"
import type { SessionCacheOptions } from "../adapter/options.js"
import { wrongOption } from "../errors/error.js"
import { channelOptions, type GrpcTargetOptions, grpcTarget } from "../transport/grpc-target.js"
import { toMetadata } from "../transport/grpc-wire.js"
import { type SessionCache, sessionCache } from "./cache.js"
import { elapsedTime } from "./clock.js"
import { type Follower, follower } from "./follower.js"
import { openFollowStream } from "./stream.js"

/** The options that determine which cache is shared. */
export interface SharedCacheOptions extends GrpcTargetOptions {
  header: Headers
  options: SessionCacheOptions
}

/** A cache that all clients with equal options use. */
export interface SharedCache {
  /** Returns the cache. Must be called at each read of a session, because a cache that is not used closes. */
  use(): SessionCache
  /** The cache, if one of these clients has it open. A change must be evicted from it. */
  readonly opened: SessionCache | undefined
  /** Releases the cache for this client. */
  leave(): void
  readonly hasLeft: boolean
}

interface Kept {
  readonly cache: SessionCache
  readonly follower: Follower
  /** The number of clients that use the cache and are not closed. */
  clients: number
  /** Whether a session was read since the last check for idleness. */
  isUsed: boolean
  isOpen: boolean
  close(): void
}

/** The global key of this process's registry of caches; see pipeline/shared.ts. */
const registryKey: unique symbol = Symbol.for("authwire.session-caches.1")

/** The interval of the checks for idleness, in milliseconds. A cache closes at the second check in a row without a read. */
const checkMs = 30_000

/**
 * Returns the cache that all clients of this process with equal options share, because an adapter may be created for
 * every request. The first read of a session opens the cache. Its stream ends when no session has been read for a while,
 * and the cached sessions are then discarded. The cache closes with the last client that uses it. It also closes when it
 * is idle, because an adapter is never closed; the next read then opens another cache.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function sharedCache(shared: SharedCacheOptions, idleCheckMs = checkMs): SharedCache {
  const { maxStaleMs, size } = checked(shared.options)
  const target = grpcTarget(shared)
  const key = keyOf(shared, [maxStaleMs, size])
  let kept: Kept | undefined
  let hasLeft = false

  function join(): Kept {
    const found = caches().get(key) ?? open()
    found.clients++
    return found
  }

  function open(): Kept {
    const now = elapsedTime()
    const cache = sessionCache({ size, now, timeOfDay: Date.now })
    const metadata = toMetadata(shared.header)
    const settings = { ...channelOptions, ...target.settings, "grpc.use_local_subchannel_pool": 1 }
    const check = setInterval(() => {
      if (!opened.isUsed) opened.close()
      opened.isUsed = false
    }, idleCheckMs).unref()
    const opened: Kept = {
      cache,
      clients: 0,
      isUsed: true,
      isOpen: true,
      close() {
        opened.isOpen = false
        caches().delete(key)
        clearInterval(check)
        opened.follower.close()
      },
      follower: follower({
        cache,
        maxStaleMs,
        now,
        after(ms, call) {
          const timer = setTimeout(call, ms).unref()
          return () => clearTimeout(timer)
        },
        connect: (events) =>
          openFollowStream(new Client(target.target, target.credentials, settings), metadata, events),
        random: Math.random,
        onFailure: () => {},
      }),
    }
    caches().set(key, opened)
    return opened
  }

  return {
    use() {
      if (!kept?.isOpen) kept = join()
      kept.isUsed = true
      kept.follower.used()
      return kept.cache
    },
    get opened() {
      return caches().get(key)?.cache
    },
    get hasLeft() {
      return hasLeft
    },
    leave() {
      if (hasLeft) return
      hasLeft = true
      if (kept?.isOpen && --kept.clients === 0) kept.close()
    },
  }
}

function caches(): Map<string, Kept> {
  const scope: typeof globalThis & { [registryKey]?: Map<string, Kept> } = globalThis
  scope[registryKey] ??= new Map()
  return scope[registryKey]
}

function checked(options: SessionCacheOptions): Required<{ [K in keyof SessionCacheOptions]: number }> {
  if (typeof options !== "object" || options === null) throw wrongOption("sessionCache", "must be an object")
  const { maxStaleMs = 1_000, size = 10_000 } = options
  if (!(Number.isInteger(maxStaleMs) && maxStaleMs >= 200 && maxStaleMs <= 10_000))
    throw wrongOption("sessionCache.maxStaleMs", "must be a whole number of milliseconds from 200 to 10000")
  if (!(Number.isInteger(size) && size >= 1 && size <= 1_000_000))
    throw wrongOption("sessionCache.size", "must be a whole number from 1 to 1000000")
  return { maxStaleMs, size }
}

/** Returns a digest of the options, because they contain secrets that a listing of the registry must not reveal. */
function keyOf({ url, tls, header }: SharedCacheOptions, numbers: number[]): string {
  const security = [tls === undefined, tls?.ca, tls?.cert, tls?.key, tls?.serverName]
  const parts = [url, ...numbers, ...security, ...[...header].flat()]
  return createHash("sha256")
    .update(JSON.stringify(parts.map(String)))
    .digest("base64url")
}
