/** What a cache may hold. */
export interface Bounds {
  /** How many values are kept. Beyond that the one that was not used for longest goes. */
  maxEntries: number
  /** The largest sum of the sizes of the values, in whatever unit `set` is told. Default: no bound. */
  maxSize?: number
  /** A value that was not used for so long goes at the next call, in milliseconds. */
  maxIdleMs: number
  /** The clock, in milliseconds. Default: Date. */
  now?: (() => number) | undefined
}

/**
 * A cache that drops the value that was not used for longest. Every call takes constant time, whatever its bounds are. (Of
 * the packages for this, none drops what has become too old without being asked for it, in constant time.)
 */
export interface Lru<Value> {
  /** The value of a key. This does not count as a use. */
  peek(key: string): Value | undefined
  /** The value of a key. This counts as a use. */
  get(key: string): Value | undefined
  /** Keeps a value. One that is larger than all values together may be is not kept. */
  set(key: string, value: Value, size?: number): void
  /** Drops the value of a key, if it still is this one. */
  delete(key: string, value: Value): void
  /** How many values there are, and the sum of their sizes. */
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
  const { maxEntries, maxSize = Number.POSITIVE_INFINITY, maxIdleMs, now = () => Date.now() } = bounds
  const entries = new Map<string, Entry<Value>>()
  // The order of use is a linked list. A Map's own order would do, but finding its first entry takes longer the more were
  // removed before it.
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
    peek: (key) => find(key, now())?.value,
    get(key) {
      const usedAt = now()
      const entry = find(key, usedAt)
      if (entry === undefined) return undefined
      entry.usedAt = usedAt
      unlink(entry)
      link(entry)
      return entry.value
    },
    set(key, value, size = 0) {
      const usedAt = now()
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
