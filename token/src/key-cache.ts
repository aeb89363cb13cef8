/** Makes a value of a secret, a salt and the name of an encryption. */
type Derivation<Value, Enc extends string> = (secret: string, salt: string, enc: Enc) => Promise<Value>

interface CacheOptions {
  /** How many values are kept. Beyond that the one that was not used for longest goes. Default 32. */
  maxEntries?: number
  /** A value that was not used for so long goes at the next use of any, in milliseconds. Default an hour. */
  maxIdleMs?: number
  /** The clock, in milliseconds. */
  now?: () => number
}

/**
 * A derivation that remembers. Callers at the same time share one derivation; one that failed is not remembered.
 *
 * What is remembered is as secret as the secret, and the secret is part of the entry's name. So few entries, and an end
 * for those of a secret that is no longer used. A Map compares names only after their hashes, which the process seeds at
 * random: how long a look-up takes says nothing about the secrets of others.
 */
export function keyCache<Value, Enc extends string>(
  derive: Derivation<Value, Enc>,
  options: CacheOptions = {},
): Derivation<Value, Enc> {
  const { maxEntries = 32, maxIdleMs = 3_600_000, now = () => Date.now() } = options
  // A Map keeps the order of insertion, and every use inserts again: the first entry is the one least recently used.
  const entries = new Map<string, { value: Promise<Value>; usedAt: number }>()

  return (secret, salt, enc) => {
    const usedAt = now()
    for (const [name, entry] of entries) {
      if (usedAt - entry.usedAt <= maxIdleMs) break
      entries.delete(name)
    }
    // The length keeps apart what a plain concatenation would not: salt "ab" with secret "c", and "a" with "bc".
    const name = `${enc}:${salt.length}:${salt}${secret}`
    const known = entries.get(name)
    const value = known?.value ?? derive(secret, salt, enc)
    entries.delete(name)
    entries.set(name, { value, usedAt })
    if (known === undefined) {
      value.catch(() => {
        if (entries.get(name)?.value === value) entries.delete(name)
      })
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries) break
        entries.delete(oldest)
      }
    }
    return value
  }
}
