import type { DescMethod } from "@bufbuild/protobuf"
import { Failure } from "../errors.js"
import type { Interceptor } from "../interceptor.js"
import { isOwnMethod } from "../own-methods.js"

export interface RateLimitOptions {
  /** Calls a second of each key and method; 0 for any number. */
  perSecond: number
  /** The same for single methods, by `Service.Method`. */
  overrides: Readonly<Record<string, number>>
  /** A monotonic clock, in milliseconds. */
  now: () => number
}

/** As many keys are remembered for each method. */
const maxKeys = 10_000

/**
 * Bounds how often a key calls a method: RATE_LIMITED says when the next call is welcome. A key that was silent may make
 * the calls of one second at once. Who needs no key is not limited, nor are health and reflection. The count is of this
 * process alone.
 */
export function rateLimit({ perSecond, overrides, now }: RateLimitOptions): Interceptor {
  return {
    admit(method) {
      const rate = overrides[nameOf(method)] ?? perSecond
      if (rate === 0 || !isOwnMethod(method)) return undefined
      const take = buckets(rate, now)
      return ({ identity }) => {
        if (identity?.keyId === undefined) return undefined
        const retryAfterMs = take(identity.keyId)
        if (retryAfterMs > 0) throw new Failure("RATE_LIMITED", { retryAfterMs })
        return undefined
      }
    },
  }
}

/** How a method is called in the options: `TokenService.Encode`. */
export function nameOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`
}

/**
 * Takes a call from the bucket of a key.
 *
 * @returns 0, or for how many milliseconds there is none.
 */
export type Take = (key: string) => number

/**
 * A token bucket for each key, kept as one number: when it will be full again (the generic cell rate algorithm). When there
 * are too many keys the oldest is forgotten, which is worth what a bucket holds.
 *
 * @param atOnce how many calls it holds. Default: those of one second.
 */
export function buckets(perSecond: number, now: () => number, atOnce = perSecond): Take {
  const costMs = 1000 / perSecond
  const fullAt = new Map<string, number>()
  return (key) => {
    const time = now()
    const known = fullAt.get(key)
    const next = Math.max(known ?? 0, time) + costMs
    const waitMs = next - time - atOnce * costMs
    // Sums of fractions are not exact.
    if (waitMs > 1e-6) return waitMs
    if (known === undefined && fullAt.size >= maxKeys) {
      const [oldest] = fullAt.keys()
      fullAt.delete(oldest as string)
    }
    fullAt.set(key, next)
    return 0
  }
}

/** One such bucket. */
export function bucket(perSecond: number, now: () => number, atOnce = perSecond): () => number {
  const take = buckets(perSecond, now, atOnce)
  return () => take("")
}
