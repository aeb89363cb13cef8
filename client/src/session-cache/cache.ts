import type { AdapterSession, AdapterUser } from "@auth/core/adapters"
import { copyOf } from "./copy.js"

/** What getSessionAndUser answers. */
export interface SessionAndUser {
  session: AdapterSession
  user: AdapterUser
}

/** An answer of the service, with what changes of it are told by. */
export interface Answer extends SessionAndUser {
  /** See FollowResponse.keys: of the session and of its user. */
  keys: readonly string[]
}

/** When a read of the service began. */
export interface ReadMark {
  readonly epoch: number
  readonly drops: number
}

export interface SessionCacheSettings {
  /** How many sessions are kept at the most. */
  size: number
  /** A clock for durations, in milliseconds. */
  now: () => number
  /** The time of day, in milliseconds since 1970. */
  timeOfDay: () => number
}

/** Sessions and their users in memory, to be used only under a lease. */
export interface SessionCache {
  /** A copy of what is kept of a session that has not expired, if it may be used at this moment. */
  get(sessionToken: string): SessionAndUser | undefined
  /** Before a session is read from the service. Undefined: the answer cannot be kept. */
  beginRead(): ReadMark | undefined
  /** Keeps an answer, unless what it tells of may have changed since the read began. */
  keep(mark: ReadMark | undefined, answer: Answer | undefined): void
  /** Forgets what these keys name, and what is being read of it. */
  drop(keys: readonly string[]): void
  /** The same for a session by its token. */
  dropToken(sessionToken: string): void
  /** Forgets everything, and what is being read. */
  clear(): void
  /** What is kept may be used until then, by the clock for durations. */
  grant(until: number): void
  /** Forgets everything; nothing is kept or used until the next grant. */
  cut(): void
  readonly entries: number
  /** Whether what is kept may be used at this moment. */
  readonly isUsable: boolean
}

interface Entry extends Answer {
  /** When it was kept, by the clock for durations. */
  at: number
}

/** An answer is not used for longer: what is changed past the service is seen then, and the service sees who is there. */
export const maxAgeMs = 60_000

/** So many drops are remembered for the reads that are on their way; one that more of them overtake is not kept. */
const remembered = 1_024

export function sessionCache({ size, now, timeOfDay }: SessionCacheSettings): SessionCache {
  /** By token; the one that was not used for longest comes first. */
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

  const isUsable = () => until !== undefined && now() <= until

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

    get entries() {
      return entries.size
    },

    get isUsable() {
      return isUsable()
    },
  }
}

/** No key of the service has a colon. */
function tokenKey(sessionToken: string): string {
  return `token:${sessionToken}`
}
