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

/** What decides which cache is used. */
export interface SharedCacheOptions extends GrpcTargetOptions {
  header: Headers
  options: SessionCacheOptions
}

/** A cache that all clients with equal options use. */
export interface SharedCache {
  readonly cache: SessionCache
  /** Somebody reads sessions. */
  used(): void
  /** This client needs it no more. */
  leave(): void
  readonly hasLeft: boolean
}

interface Kept {
  readonly cache: SessionCache
  readonly follower: Follower
  /** How many clients use it and are not closed. */
  clients: number
}

/** Finds the caches of this process; see transport/shared.ts. */
const registryKey: unique symbol = Symbol.for("authwire.session-caches.1")

/**
 * The cache that all clients of this process with equal options share, since an adapter may be made for every request. Its
 * stream ends when nobody has read a session for a while, or with the last client; what it kept goes with it.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
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

/** A digest, since the options hold secrets: whoever lists the registry must not read them. */
function keyOf({ url, tls, header }: SharedCacheOptions, numbers: number[]): string {
  const security = [tls === undefined, tls?.ca, tls?.cert, tls?.key, tls?.serverName]
  const parts = [url, ...numbers, ...security, ...[...header].flat()]
  return createHash("sha256")
    .update(JSON.stringify(parts.map(String)))
    .digest("base64url")
}
