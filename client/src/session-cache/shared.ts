import { Client } from "@grpc/grpc-js"
import type { SessionCacheOptions } from "../adapter/options.js"
import { wrongOption } from "../errors/error.js"
import { fallbackLog } from "../transport/fallback-log.js"
import { channelOptions, type GrpcTargetOptions, grpcServer, grpcTarget } from "../transport/grpc-target.js"
import { toMetadata } from "../transport/grpc-wire.js"
import { type Shared, shared } from "../transport/shared.js"
import { type SessionCache, sessionCache } from "./cache.js"
import { elapsedTime } from "./clock.js"
import { follower } from "./follower.js"
import { openFollowStream } from "./stream.js"

/** The options that determine which cache is shared. */
export interface SharedCacheOptions extends GrpcTargetOptions {
  header: Headers
  options: SessionCacheOptions
}

/** A cache with the stream that keeps its lease. */
export interface FollowedCache {
  readonly cache: SessionCache
  /** Must be called at each read of a session, because the stream ends when no session has been read for a while. */
  used(): void
  readonly isIdle: boolean
  close(): void
}

/**
 * Returns the cache that all clients of this process with equal options share.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function sharedCache(connection: SharedCacheOptions): Shared<FollowedCache> {
  const { maxStaleMs, size } = checked(connection.options)
  const open = () => openCache(connection, maxStaleMs, size)
  return shared({ kind: "session cache", connection, settings: [maxStaleMs, size], open })
}

function openCache(connection: SharedCacheOptions, maxStaleMs: number, size: number): FollowedCache {
  const { target, credentials, settings } = grpcTarget(connection)
  const metadata = toMetadata(connection.header)
  const now = elapsedTime()
  const cache = sessionCache({ size, now, timeOfDay: Date.now })
  const { used, close } = follower({
    cache,
    maxStaleMs,
    now,
    after(ms, call) {
      const timer = setTimeout(call, ms).unref()
      return () => clearTimeout(timer)
    },
    connect(events) {
      const own = { ...channelOptions, ...settings, "grpc.use_local_subchannel_pool": 1 }
      return openFollowStream(new Client(target, credentials, own), metadata, events)
    },
    random: Math.random,
    uncachedReads: fallbackLog(
      grpcServer(connection).address,
      "does not announce changes of sessions, so the session cache is not used",
    ),
  })
  return { cache, used, close, isIdle: true }
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
