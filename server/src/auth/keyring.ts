import type { Logger } from "pino"
import { Failure } from "../errors/failure.js"
import type { ApiKeyStore } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { Key } from "./key.js"

/** The keys that calls are checked against, in memory. A key may have expired; none was revoked when it was read. */
export interface Keyring {
  /** Returns the key with an id, if it is in memory and was read recently enough. */
  get(id: string): Key | undefined
  /** Looks a key up in the database that `get` does not find. Throws OVERLOADED beyond the limit for lookups. */
  lookUp(id: string): Promise<Key | undefined>
  /**
   * Returns the key that belongs to the first name of a certificate for which there are valid keys. Returns none if these
   * keys are of several tenants. Of several keys of one tenant it returns one of the configuration, or else the newest.
   */
  ofCertificate(names: readonly string[]): Promise<Key | undefined> | Key | undefined
  /**
   * Returns whether keys exist for one of the names of a certificate, even if they have expired or belong to several
   * tenants. Throws DATABASE_UNAVAILABLE if the keys of the database were never read.
   */
  hasCertificate(names: readonly string[]): boolean
  /** Replaces the keys of the configuration, which are used in addition to those of the database. */
  setStaticKeys(keys: readonly Key[]): void
  stop(): void
}

export interface KeyringOptions {
  apiKeys: ApiKeyStore
  log: Logger
  /** A clock for durations, in milliseconds, that also advances while the machine is suspended. */
  clock: () => number
  /** Returns the time of the database's clock, in milliseconds since 1970. It decides which keys have expired. */
  now: () => number
  /** The interval between reads of the changes, in milliseconds; half of it after a failure. Default: 2,000. */
  listIntervalMs?: number
}

interface CachedKey {
  key: Key
  /** When the read began that found the key last, unless a later read of the changes confirms it. */
  asOf: number
  /** The number of the walk through all keys that has found it. */
  walk: number
}

/** The timeout of a read, in milliseconds. It is so short that a failure is noticed before the last result expires. */
const timeoutMs = 2_000
/** How long a result is valid, in ms: the 5 s after which a revoked key is rejected, less the duration of a call. */
const freshMs = 4_500
/** The largest number of unknown ids that are looked up per second. */
const lookupsPerSecond = 20
/** How long an id is not looked up again, in milliseconds. Keys that are found are in the cache for longer. */
const recentMs = 2_000

/** The most sets of scopes that keys share in memory. */
const maxScopeSets = 1_000

/**
 * Reads the list of valid keys from the database, and then at regular intervals what has changed, and a page of a walk
 * through all keys. The walk finds keys that were deleted; with up to 1,000 keys it is one page. Resolves after the first
 * attempt and never throws: while the database does not answer, its keys are neither valid nor invalid, and every call
 * gets DATABASE_UNAVAILABLE.
 *
 * An id that is not in the list is looked up individually, so that a new key works at once. A client that tries random
 * ids costs the database at most 20 lookups per second. Further calls fail with OVERLOADED, and may retry when the next
 * list has been read.
 */
export async function openKeyring(options: KeyringOptions): Promise<Keyring> {
  const { apiKeys, log, clock, now, listIntervalMs = 2_000 } = options
  let staticKeys = new Map<string, Key>()
  const cached = new Map<string, CachedKey>()
  const scopeSets = new Map<string, ReadonlySet<string>>()
  /** Up to when the changes were read, by the clock of the database; undefined if the keys were never read. */
  let until: Date | undefined
  let walk = { number: 0, after: "" }
  let byCertificateName = new Map<string, Key[]>()
  /** The certificate names for which valid keys of several tenants exist. */
  let sharedNames = new Set<string>()
  /** The lookups by id, and until when each is not repeated: one in progress, or one that may have found no valid key. */
  const recent = new Map<string, { found: Promise<Key | undefined>; until: number }>()
  let lookups = { second: 0, count: 0 }
  /** When the newest read of the changes began. */
  let listAsOf = Number.NEGATIVE_INFINITY
  /** The error of the last read of the list; undefined if it succeeded. */
  let lastError: unknown
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const isFresh = (asOf: number) => clock() - asOf <= freshMs

  const get = (id: string): Key | undefined => {
    const key = staticKeys.get(id)
    if (key !== undefined) return key
    const found = cached.get(id)
    return found !== undefined && isFresh(Math.max(found.asOf, listAsOf)) ? found.key : undefined
  }

  /** Updates what follows from the keys. */
  const index = (): void => {
    const stored = [...cached.values()].map(({ key }) => key).filter(({ keyId }) => !staticKeys.has(keyId))
    const named = [...staticKeys.values(), ...stored].filter((key) => key.certificateName !== undefined)
    named.sort((one, other) => other.created - one.created || (one.keyId < other.keyId ? -1 : 1))
    byCertificateName = Map.groupBy(named, ({ certificateName = "" }) => certificateName)
    const known = sharedNames
    sharedNames = new Set()
    for (const name of byCertificateName.keys()) {
      const valid = validOf(name)
      if (areOfOneTenant(valid)) continue
      sharedNames.add(name)
      const what = "valid keys of several tenants have the same certificate name: clients with it are rejected"
      // Not the name, which may be an e-mail address.
      if (!known.has(name)) log.warn({ keys: valid.map(({ keyId }) => keyId) }, what)
    }
  }

  /** Keeps a key in memory, or removes it. Returns whether the keys of a certificate have changed. */
  const keep = (id: string, row: ApiKey | undefined, asOf: number): boolean => {
    const before = cached.get(id)?.key
    if (row === undefined) {
      cached.delete(id)
      return before?.certificateName !== undefined
    }
    const read = new Key(row, scopesOf(row))
    const isSame = before?.equals(read) === true
    cached.set(id, { key: isSame ? before : read, asOf, walk: walk.number })
    return !isSame && (before?.certificateName ?? read.certificateName) !== undefined
  }

  const scopesOf = ({ scopes }: ApiKey): ReadonlySet<string> => {
    const name = scopes.join(" ")
    const set = scopeSets.get(name) ?? new Set(scopes)
    if (scopeSets.size < maxScopeSets) scopeSets.set(name, set)
    return set
  }

  /** Reads the next page of the walk. Returns whether the keys of a certificate may have changed. */
  const readPage = async (asOf: number): Promise<boolean> => {
    const { keys, next } = await inTime((signal) => apiKeys.listValid({ signal }, new Date(now()), walk.after))
    let isNamed = false
    for (const key of keys) isNamed = keep(key.id, key, asOf) || isNamed
    if (next !== undefined) {
      walk.after = next
      return isNamed
    }
    for (const [id, one] of cached) if (one.walk < walk.number) isNamed = keep(id, undefined, asOf) || isNamed
    walk = { number: walk.number + 1, after: "" }
    return isNamed
  }

  /** Reads the changes and a page. Without an earlier time from which changes can be read, it reads all pages. */
  const readList = async (asOf: number): Promise<void> => {
    const found = await inTime((signal) => apiKeys.listChanges({ signal }, until))
    let isNamed = false
    for (const { id, key } of found.changes) isNamed = keep(id, key, asOf) || isNamed
    // A first read that failed midway begins again.
    if (until === undefined) walk = { number: walk.number + 1, after: "" }
    const { number } = walk
    do isNamed = (await readPage(asOf)) || isNamed
    while (until === undefined && walk.number === number && !stopped)
    until = found.until
    if (isNamed) index()
  }

  /** Returns the keys of a certificate name that have not expired. */
  const validOf = (name: string): Key[] => {
    const time = now()
    return byCertificateName.get(name)?.filter((key) => !key.isExpired(time)) ?? []
  }

  const list = oneAtATime(async () => {
    const asOf = clock()
    try {
      await readList(asOf)
      for (const [id, { until }] of recent) if (until < clock()) recent.delete(id)
      listAsOf = asOf
      if (lastError !== undefined) log.info("the API keys can be read again")
      lastError = undefined
    } catch (error) {
      if (lastError === undefined && !stopped) {
        const what = "the API keys of the database cannot be read: calls with them are rejected until they can"
        log.error({ err: error, in_ms: freshMs }, what)
      }
      lastError = error
    }
  })

  const listRegularly = async (): Promise<void> => {
    const begun = clock()
    await list()
    if (stopped) return
    const pauseMs = lastError === undefined ? Math.max(listIntervalMs - (clock() - begun), 0) : listIntervalMs / 2
    timer = setTimeout(listRegularly, pauseMs).unref()
  }

  const read = async (id: string): Promise<Key | undefined> => {
    const asOf = clock()
    const row = await inTime((signal) => apiKeys.get({ signal }, id))
    if (row === null || row.revoked !== undefined || (row.expires && row.expires.getTime() <= now())) return undefined
    if (keep(id, row, asOf)) index()
    return cached.get(id)?.key
  }

  const requireAnswer = (): void => {
    if (lastError !== undefined && !isFresh(listAsOf)) throw unavailable(lastError)
  }

  /** Created once, as the failures of calls without a valid key are; see access. */
  const tooManyLookups = new Failure("OVERLOADED", { retryAfterMs: listIntervalMs })

  const lookUp = async (id: string): Promise<Key | undefined> => {
    // The key may be known from an expired list, or be new. In an outage the call fails at once instead of waiting.
    requireAnswer()
    // All keys are too old at once when the machine was suspended.
    if (cached.has(id) && !isFresh(listAsOf)) {
      await list()
      requireAnswer()
      const key = get(id)
      if (key !== undefined) return key
    }
    const same = recent.get(id)
    if (same !== undefined && same.until >= clock()) return same.found
    const second = Math.floor(clock() / 1_000)
    if (lookups.second !== second) lookups = { second, count: 0 }
    if (lookups.count++ >= lookupsPerSecond) throw tooManyLookups
    const lookup = { found: read(id), until: Number.POSITIVE_INFINITY }
    recent.set(id, lookup)
    const settled = () => {
      lookup.until = clock() + recentMs
    }
    lookup.found.then(settled, () => recent.delete(id))
    return lookup.found
  }

  await listRegularly()
  return {
    get,
    lookUp,
    ofCertificate(names) {
      for (const name of names) {
        const valid = validOf(name)
        if (!areOfOneTenant(valid)) break
        const [key] = valid
        if (key !== undefined) return get(key.keyId) ?? lookUp(key.keyId)
      }
      requireAnswer()
      return undefined
    },
    hasCertificate(names) {
      if (names.some((name) => byCertificateName.has(name))) return true
      if (names.length > 0 && listAsOf === Number.NEGATIVE_INFINITY) throw unavailable(lastError)
      return false
    },
    setStaticKeys(keys) {
      staticKeys = new Map(keys.map((key) => [key.keyId, key]))
      index()
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

function unavailable(cause: unknown): Failure {
  return new Failure("DATABASE_UNAVAILABLE", { cause })
}

/** Returns whether all keys belong to the same tenant. Otherwise the choice between them would decide the tenant. */
function areOfOneTenant(keys: readonly Key[]): boolean {
  return keys.every(({ tenant }) => tenant === keys[0]?.tenant)
}

/** Reads with a timeout, after which the read leaves the queue. A statement that hangs is abandoned. */
async function inTime<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController()
  // Not peerTimeout(): an answer that is older than its time may be that of a key which has been revoked since.
  const timer = setTimeout(() => late.abort(unavailable(new Error(`no answer in ${timeoutMs} ms`))), timeoutMs)
  try {
    return await orAborted(ask(late.signal), late.signal)
  } finally {
    clearTimeout(timer)
  }
}
