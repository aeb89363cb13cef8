/** The limits of a cache. */
export interface Bounds {
  /** The maximum number of values. The least recently used value is evicted first. */
  maxEntries: number
  /** The maximum sum of the sizes of the values, in the unit of the sizes that `set` receives. Default: no limit. */
  maxSize?: number
  /** The idle time after which a value expires, in milliseconds. Expired values are removed at the next call. */
  maxIdleMs: number
}

/**
 * A cache that evicts the least recently used value. Every call takes constant time, whatever the limits are. (No
 * existing package removes expired values that are not looked up in constant time, and lru-cache imports a module of
 * Node where the condition of Deno is set.)
 */
export interface Lru<Value> {
  /** Returns the value of a key. This does not count as a use. */
  peek(key: string): Value | undefined
  /** Returns the value of a key. This counts as a use. */
  get(key: string): Value | undefined
  /** Stores a value. A value that is larger than the maximum sum of sizes is not stored. */
  set(key: string, value: Value, size?: number): void
  /** Removes the value of a key, if it is still the given value. */
  delete(key: string, value: Value): void
  /** The number of values, and the sum of their sizes. */
  readonly count: number
  readonly size: number
}

interface Entry<Value> {
  readonly key: string
  readonly value: Value
  readonly size: number
  usedAt: number
  older: Entry<Value> | undefined
  newer: Entry<Value> | undefined
}

export function lru<Value>(bounds: Bounds): Lru<Value> {
  const { maxEntries, maxSize = Number.POSITIVE_INFINITY, maxIdleMs } = bounds
  const entries = new Map<string, Entry<Value>>()
  // A linked list holds the order of use. The order of a Map would suffice, but finding its first entry takes longer
  // the more entries were removed before it.
  let oldest: Entry<Value> | undefined
  let newest: Entry<Value> | undefined
  let total = 0

  function unlink({ older, newer }: Entry<Value>) {
    if (older === undefined) oldest = newer
    else older.newer = newer
    if (newer === undefined) newest = older
    else newer.older = older
  }

  function link(entry: Entry<Value>) {
    entry.older = newest
    entry.newer = undefined
    if (newest === undefined) oldest = entry
    else newest.newer = entry
    newest = entry
  }

  function remove(entry: Entry<Value>) {
    entries.delete(entry.key)
    unlink(entry)
    total -= entry.size
  }

  function find(key: string, time: number): Entry<Value> | undefined {
    while (oldest !== undefined && time - oldest.usedAt > maxIdleMs) remove(oldest)
    return entries.get(key)
  }

  return {
    peek: (key) => find(key, Date.now())?.value,
    get(key) {
      const usedAt = Date.now()
      const entry = find(key, usedAt)
      if (entry === undefined) return undefined
      entry.usedAt = usedAt
      unlink(entry)
      link(entry)
      return entry.value
    },
    set(key, value, size = 0) {
      const usedAt = Date.now()
      const known = find(key, usedAt)
      if (known !== undefined) remove(known)
      if (maxEntries < 1 || size > maxSize) return
      const entry = { key, value, size, usedAt, older: undefined, newer: undefined }
      entries.set(key, entry)
      link(entry)
      total += size
      while (oldest !== undefined && (entries.size > maxEntries || total > maxSize)) remove(oldest)
    },
    delete(key, value) {
      const entry = entries.get(key)
      if (entry !== undefined && entry.value === value) remove(entry)
    },
    get count() {
      return entries.size
    },
    get size() {
      return total
    },
  }
}
