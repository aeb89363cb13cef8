import type { AdapterSession, AdapterUser } from "@auth/core/adapters"

/** The result of getSessionAndUser. */
interface SessionAndUser {
  session: AdapterSession
  user: AdapterUser
}

/** A session and its user as the service returned them, with the keys that the service announces with changes. */
export interface Answer extends SessionAndUser {
  /** The keys of the session and of its user; see FollowResponse.keys. */
  keys: readonly string[]
}

/** The state of the cache when a read from the service began. */
interface ReadMark {
  readonly epoch: number
  readonly drops: number
}

interface SessionCacheSettings {
  /** The maximum number of cached sessions. */
  size: number
  /** A clock for durations, in milliseconds. */
  now: () => number
  /** The time of day, in milliseconds since 1970. */
  timeOfDay: () => number
}

/** Sessions and their users in memory. They may be used only while a lease is valid. */
export interface SessionCache {
  /** Returns a copy of a cached session and its user, if the lease is valid and the session has not expired. */
  get(sessionToken: string): SessionAndUser | undefined
  /** Must be called before a session is read from the service. Returns undefined if the result cannot be cached. */
  beginRead(): ReadMark | undefined
  /** Caches the result of a read, unless it may have changed since the read began. */
  keep(mark: ReadMark | undefined, answer: Answer | undefined): void
  /** Evicts the entries with one of these keys, and prevents reads in progress from caching them. */
  drop(keys: readonly string[]): void
  /** Evicts a session by its token, and prevents reads in progress from caching it. */
  dropToken(sessionToken: string): void
  /** Evicts all entries, and prevents reads in progress from caching their results. */
  clear(): void
  /** Extends the lease to this time, by the clock for durations. Never shortens it. */
  grant(until: number): void
  /** Ends the lease and evicts all entries. Nothing is cached or used until the next grant. */
  cut(): void
}

interface Entry extends Answer {
  /** The time at which the entry was cached, by the clock for durations. */
  at: number
}

/**
 * The maximum age of an entry, in milliseconds. After it the session is read from the service again. The client then
 * sees changes that were made without the service, and the service can record that the session is in use.
 */
export const maxAgeMs = 60_000

/** The most recent drops that are remembered. The result of a read during which there were more is not cached. */
const remembered = 1_024

export function sessionCache({ size, now, timeOfDay }: SessionCacheSettings): SessionCache {
  /** By token, the least recently used entry first. */
  const entries = new Map<string, Entry>()
  const byKey = new Map<string, Set<Entry>>()
  const recent: string[] = []
  let drops = 0
  let epoch = 0
  let until: number | undefined

  function remove(entry: Entry): void {
    entries.delete(entry.session.sessionToken)
    for (const key of entry.keys) {
      const same = byKey.get(key)
      same?.delete(entry)
      if (same?.size === 0) byKey.delete(key)
    }
  }

  function dropped(key: string): void {
    recent[drops % remembered] = key
    drops++
  }

  function wasDropped(since: number, answer: Answer): boolean {
    if (drops - since > remembered) return true
    const token = tokenKey(answer.session.sessionToken)
    for (let drop = since; drop < drops; drop++) {
      const key = recent[drop % remembered] as string
      if (key === token || answer.keys.includes(key)) return true
    }
    return false
  }

  function clear(): void {
    epoch++
    entries.clear()
    byKey.clear()
  }

  return {
    get(sessionToken) {
      const entry = entries.get(sessionToken)
      if (entry === undefined || until === undefined) return undefined
      const at = now()
      if (at > until) return undefined
      if (at - entry.at > maxAgeMs || entry.session.expires.getTime() <= timeOfDay()) {
        remove(entry)
        return undefined
      }
      entries.delete(sessionToken)
      entries.set(sessionToken, entry)
      return { session: copyOf(entry.session), user: copyOf(entry.user) }
    },

    beginRead: () => (until === undefined ? undefined : { epoch, drops }),

    keep(mark, answer) {
      if (answer === undefined || mark === undefined || mark.epoch !== epoch || wasDropped(mark.drops, answer)) return
      const { session, user, keys } = answer
      const before = entries.get(session.sessionToken)
      if (before !== undefined) remove(before)
      const entry: Entry = { session: copyOf(session), user: copyOf(user), keys, at: now() }
      entries.set(session.sessionToken, entry)
      for (const key of keys) {
        const same = byKey.get(key)
        if (same === undefined) byKey.set(key, new Set([entry]))
        else same.add(entry)
      }
      const [oldest] = entries.size > size ? entries.values() : []
      if (oldest !== undefined) remove(oldest)
    },

    drop(keys) {
      for (const key of keys) {
        dropped(key)
        for (const entry of byKey.get(key) ?? []) remove(entry)
      }
    },

    dropToken(sessionToken) {
      dropped(tokenKey(sessionToken))
      const entry = entries.get(sessionToken)
      if (entry !== undefined) remove(entry)
    },

    clear,

    grant(next) {
      if (until === undefined || next > until) until = next
    },

    cut() {
      clear()
      until = undefined
    },
  }
}

/** Returns the drop key of a session token. It cannot equal a key of the service, because those contain no colon. */
function tokenKey(sessionToken: string): string {
  return `token:${sessionToken}`
}

/** Returns a deep copy of a result of the adapter (JSON and dates), because callers may modify what they receive. */
function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value
  if (value instanceof Date) return new Date(value.getTime()) as T
  if (Array.isArray(value)) return value.map(copyOf) as T
  const copy: Record<string, unknown> = {}
  for (const name in value) {
    const property: unknown = value[name]
    const copied = typeof property === "object" ? copyOf(property) : property
    // An assignment would set the prototype of the copy.
    if (name === "__proto__") Object.defineProperty(copy, name, { value: copied, ...plain })
    else copy[name] = copied
  }
  return copy as T
}

const plain = { writable: true, enumerable: true, configurable: true }
