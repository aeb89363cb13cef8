import { type Bounds, lru } from "./lru.js"

/** Derives a value from a secret, a salt and the name of an encryption. */
type Derivation<Value, Enc extends string> = (secret: string, salt: string, enc: Enc) => Promise<Value>

/**
 * Adds a cache to a derivation. By default it holds 32 values, which expire after an hour without use. Concurrent calls
 * with the same arguments share one derivation. A failed derivation is not cached.
 *
 * Cached values are as secret as the secret, which is also part of the cache key. The cache is therefore small, and the
 * values of a secret that is no longer used expire. The duration of a lookup reveals nothing about other secrets,
 * because a Map compares keys only after their hashes, which the process seeds at random.
 */
export function keyCache<Value, Enc extends string>(
  derive: Derivation<Value, Enc>,
  bounds: Partial<Bounds> = {},
): Derivation<Value, Enc> {
  const values = lru<Promise<Value>>({ maxEntries: 32, maxIdleMs: 3_600_000, ...bounds })
  return (secret, salt, enc) => {
    // The length makes the concatenation unambiguous: it separates salt "ab" with secret "c" from salt "a" with secret
    // "bc".
    const name = `${enc}:${salt.length}:${salt}${secret}`
    const known = values.get(name)
    if (known !== undefined) return known
    const value = derive(secret, salt, enc)
    values.set(name, value)
    value.catch(() => values.delete(name, value))
    return value
  }
}
