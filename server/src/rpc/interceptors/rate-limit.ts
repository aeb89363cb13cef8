import { shares_limit_of as sharesLimitOf } from "@authwire/proto"
import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { isOwnMethod, ownMethods } from "../../auth/scopes.js"
import { Failure } from "../../errors/failure.js"
import { InvalidValueError } from "../../errors/invalid-value-error.js"
import type { Interceptor } from "../interceptor.js"

interface RateLimitOptions {
  /** The number of calls per second that each key may make of each method; 0: no limit. */
  perSecond: number
  /** The same for individual methods, by `Service.Method`. */
  overrides: Readonly<Record<string, number>>
  /** A monotonic clock, in milliseconds. */
  now: () => number
}

/** The largest number of keys that are tracked for each method. */
const maxKeys = 10_000

/**
 * Limits how often a key calls a method, or those that answer the same question together. RATE_LIMITED says when the next
 * call is allowed. A key that was idle may make the calls of one second at once. Callers without a key are not limited, nor
 * are health and reflection. Each process counts only its own calls.
 *
 * CreateUser and UpdateUser also tell that an address is taken. They have limits of their own nevertheless: each other guess
 * leaves a user or a change, with an event and a line of the audit, and sign-ups and updates would share the limit of sign-ins.
 */
export function rateLimit({ perSecond, overrides, now }: RateLimitOptions): Interceptor {
  /** By the name of the method whose limit it is. */
  const shared = new Map<string, Take>()
  const limitOf = (name: string, rate: number) => {
    const take = shared.get(name) ?? buckets(rate, now)
    shared.set(name, take)
    return take
  }
  return {
    admit(method) {
      const own = nameOf(method)
      const name = overrides[own] === undefined ? getOption(method, sharesLimitOf) || own : own
      const rate = overrides[name] ?? perSecond
      if (rate === 0 || !isOwnMethod(method)) return undefined
      const take = limitOf(name, rate)
      return ({ identity }) => {
        if (identity?.keyId === undefined) return undefined
        const retryAfterMs = take(identity.keyId)
        if (retryAfterMs > 0) throw new Failure("RATE_LIMITED", { retryAfterMs })
        return undefined
      }
    },
  }
}

/** Returns the name of a method in the options, such as `TokenService.Encode`. */
function nameOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`
}

/**
 * Takes a token from the bucket of a key.
 *
 * @returns 0, or the time until there is a token, in milliseconds: then none was taken
 */
type Take = (key: string) => number

/**
 * Creates a token bucket for each key. A bucket is stored as one number, the time at which it will be full again (the
 * generic cell rate algorithm). When there are too many keys, the oldest is evicted. This gives that key a full bucket
 * at most.
 *
 * @param atOnce the capacity of a bucket. Default: the calls of one second.
 */
export function buckets(perSecond: number, now: () => number, atOnce = perSecond): Take {
  const costMs = 1000 / perSecond
  const fullAt = new Map<string, number>()
  return (key) => {
    const time = now()
    const known = fullAt.get(key)
    const next = Math.max(known ?? 0, time) + costMs
    const waitMs = next - time - atOnce * costMs
    // Tolerates rounding errors of floating-point sums.
    if (waitMs > 1e-6) return waitMs
    if (known === undefined && fullAt.size >= maxKeys) {
      const [oldest] = fullAt.keys()
      fullAt.delete(oldest as string)
    }
    fullAt.set(key, next)
    return 0
  }
}

/** Creates one such bucket. */
export function bucket(perSecond: number, now: () => number, atOnce = perSecond): () => number {
  const take = buckets(perSecond, now, atOnce)
  return () => take("")
}

/**
 * Parses rates such as `TokenService.Encode=50,UserService.CreateUser=20`. An empty text has no rates.
 *
 * @throws InvalidValueError with the rule that is violated
 */
export function readRates(text: string): Record<string, number> {
  const rates: Record<string, number> = {}
  for (const part of text.split(",")) {
    if (part.trim() === "") continue
    const [, name = "", rate] = /^\s*(\w+\.\w+)\s*=\s*(\d{1,9})\s*$/.exec(part) ?? []
    if (rate === undefined)
      throw new InvalidValueError("must be a list of Service.Method=CALLS, such as TokenService.Encode=50")
    if (!known.has(name)) throw new InvalidValueError(`there is no method ${name}`)
    rates[name] = Number(rate)
  }
  return rates
}

const known = new Set(ownMethods.map(nameOf))
