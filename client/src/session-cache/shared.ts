import { createHash } from "node:crypto"
import { Client } from "@grpc/grpc-js"
import { wrongOption } from "../error.js"
import { channelOptions, type GrpcTargetOptions, grpcTarget } from "../transport/grpc-target.js"
import { toMetadata } from "../transport/grpc-wire.js"
import { type SessionCache, sessionCache } from "./cache.js"
import { elapsedTime } from "./clock.js"
import { type Follower, follower } from "./follower.js"
import type { SessionCacheOptions } from "./options.js"
import { openFollowStream } from "./stream.js"

/** The options that determine which cache is shared. */
export interface SharedCacheOptions extends GrpcTargetOptions {
  header: Headers
  options: SessionCacheOptions
}

/** A cache that all clients with equal options use. */
export interface SharedCache {
  readonly cache: SessionCache
  /** Must be called at each read of a session. */
  used(): void
  /** Releases the cache for this client. */
  leave(): void
  readonly hasLeft: boolean
}

interface Kept {
  readonly cache: SessionCache
  readonly follower: Follower
  /** The number of clients that use the cache and are not closed. */
  clients: number
}

/** The global key of this process's registry of caches; see transport/shared.ts. */
const registryKey: unique symbol = Symbol.for("authwire.session-caches.1")

/**
 * Returns the cache that all clients of this process with equal options share, because an adapter may be created for
 * every request. The stream of the cache ends when no session has been read for a while, or when the last client
 * leaves. The cached sessions are then discarded.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function sharedCache(shared: SharedCacheOptions): SharedCache {
  const { maxStaleMs, size } = checked(shared.options)
  const target = grpcTarget(shared)
  const key = keyOf(shared, [maxStaleMs, size])
  const kept = caches().get(key) ?? open()
  kept.clients++
  let hasLeft = false

  function open(): Kept {
    const now = elapsedTime()
    const cache = sessionCache({ size, now, timeOfDay: Date.now })
    const metadata = toMetadata(shared.header)
    const settings = { ...channelOptions, ...target.settings, "grpc.use_local_subchannel_pool": 1 }
    const opened: Kept = {
      cache,
      clients: 0,
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
    cache: kept.cache,
    used: kept.follower.used,
    get hasLeft() {
      return hasLeft
    },
    leave() {
      if (hasLeft) return
      hasLeft = true
      kept.clients--
      if (kept.clients > 0) return
      caches().delete(key)
      kept.follower.close()
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
