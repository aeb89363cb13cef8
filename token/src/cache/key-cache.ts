import { type Bounds, lru } from "./lru.js"

/** Makes a value of a secret, a salt and the name of an encryption. */
type Derivation<Value, Enc extends string> = (secret: string, salt: string, enc: Enc) => Promise<Value>

/**
 * A derivation that remembers, by default 32 values, each until it was not used for an hour. Callers at the same time
 * share one derivation; one that failed is not remembered.
 *
 * What is remembered is as secret as the secret, and the secret is part of the entry's name. So few entries, and an end
 * for those of a secret that is no longer used. A Map compares names only after their hashes, which the process seeds at
 * random: how long a lookup takes says nothing about the secrets of others.
 */
export function keyCache<Value, Enc extends string>(
  derive: Derivation<Value, Enc>,
  bounds: Partial<Bounds> = {},
): Derivation<Value, Enc> {
  const values = lru<Promise<Value>>({ maxEntries: 32, maxIdleMs: 3_600_000, ...bounds })
  return (secret, salt, enc) => {
    // The length keeps apart what a plain concatenation would not: salt "ab" with secret "c", and "a" with "bc".
    const name = `${enc}:${salt.length}:${salt}${secret}`
    const known = values.get(name)
    if (known !== undefined) return known
    const value = derive(secret, salt, enc)
    values.set(name, value)
    value.catch(() => values.delete(name, value))
    return value
  }
}
