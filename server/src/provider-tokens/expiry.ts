import type { Account } from "../store/types.js"

/** The smallest number that is taken for milliseconds since 1970. In seconds it is in the year 5138. */
const smallestMs = 100_000_000_000
/** The largest value of a google.protobuf.Timestamp, the end of the year 9999, in milliseconds. */
const maxTimestampMs = 253_402_300_799_999
/** The longest lifetime that is taken for seconds. */
const maxLifetimeSeconds = 10 * 365 * 86_400

/** Returns when an access token expires, in ms since 1970; undefined if unknown, or after the year 9999. */
export function expiryOf({ expires_at }: Pick<Account, "expires_at">): number | undefined {
  if (expires_at === undefined || Number.isNaN(expires_at)) return undefined
  const ms = expires_at >= smallestMs ? expires_at : expires_at * 1000
  return ms > maxTimestampMs ? undefined : Math.floor(ms)
}

/** The lifetime of an access token in seconds, and its expiry in seconds since 1970. */
export interface Expiry {
  expires_in?: number
  expires_at?: number
}

/**
 * Reads the expiry from an answer. `expires_in` is preferred, because it does not depend on the provider's clock. Else
 * `expires_at` or `expires_on` is used. Each is a number or its digits. Anything else is ignored, so that the expiry is
 * unknown. Numbers that are too large for seconds are milliseconds. A lifetime of zero or less has ended.
 *
 * @param now The time in milliseconds since 1970.
 */
export function expiryOfAnswer(
  { expires_in, expires_at, expires_on }: { expires_in?: unknown; expires_at?: unknown; expires_on?: unknown },
  now: number,
): Expiry {
  const seconds = Math.floor(now / 1000)
  const lifetime = lifetimeOf(numberOf(expires_in))
  if (lifetime !== undefined) return { expires_in: lifetime, expires_at: seconds + lifetime }
  const at = numberOf(expires_at) ?? numberOf(expires_on)
  if (at === undefined) return {}
  return { expires_at: Math.floor(at >= smallestMs ? at / 1000 : at) }
}

function lifetimeOf(value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  const lifetime = Math.max(0, Math.floor(value > maxLifetimeSeconds ? value / 1000 : value))
  return lifetime <= maxLifetimeSeconds ? lifetime : undefined
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d{1,15}$/.test(value.trim()) ? Number(value) : value
  return typeof number === "number" && Number.isFinite(number) ? number : undefined
}
