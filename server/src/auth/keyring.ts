import type { Logger } from "pino"
import { Failure } from "../errors/failure.js"
import type { ApiKeyStore } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { areOfOneTenant, keysByCertificateName } from "./certificate-names.js"
import { Key } from "./key.js"

/** The keys that calls are checked against, in memory. A key may have expired; none was revoked when it was read. */
export interface Keyring {
  /** Returns the key with an id, if it is in memory and was read recently enough. */
  get(id: string): Key | undefined
  /** Returns a key that `get` does not find. It looks the key up in the database, within the limit for lookups. */
  seek(id: string): Promise<Key | undefined>
  /**
   * Returns the key that belongs to the first name of a certificate for which there are valid keys. Returns none if these
   * keys are of several tenants. Of several keys of one tenant it returns the first in the order of
   * `keysByCertificateName`.
   */
  ofCertificate(names: readonly string[]): Promise<Key | undefined> | Key | undefined
  /**
   * Returns whether keys exist for one of the names of a certificate, even if they have expired or belong to several
   * tenants. Throws DATABASE_UNAVAILABLE if the keys of the database were never read.
   */
  hasCertificate(names: readonly string[]): boolean
  /** Replaces the keys of the configuration, which are used in addition to those of the database. */
  give(keys: readonly Key[]): void
  stop(): void
}

export interface KeyringOptions {
  apiKeys: ApiKeyStore
  log: Logger
  /** A clock for durations, in milliseconds. */
  clock: () => number
  /** The interval between reads of all valid keys, in milliseconds; half of it after a failure. Default: 2,000. */
  listIntervalMs?: number
}

interface Held {
  key: Key
  /** When the read began that found the key last. */
  asOf: number
}

/** The timeout of a read, in milliseconds. It is so short that a failure is noticed before the last result expires. */
const patienceMs = 2_000
/** How long a result is valid, in ms: the 5 s after which a revoked key is rejected, less the duration of a call. */
const freshMs = 4_500
/**
 * The largest number of unknown ids that are looked up per second, and of calls with further unknown ids that wait for
 * the next list. Few may wait: they count as active calls, and must not make the service look slow to callers with
 * known keys.
 */
const lookupsPerSecond = 20
const maxWaiting = 8
/** How long an id without a valid key is cached, in milliseconds. */
const absentMs = 2_000

/**
 * Reads the list of valid keys from the database at regular intervals. Resolves after the first attempt and never
 * throws: while the database does not answer, its keys are neither valid nor invalid, and every call gets
 * DATABASE_UNAVAILABLE.
 *
 * An id that is not in the list is looked up individually, so that a new key works at once. A client that tries random
 * ids costs the database at most 20 lookups per second. A few further calls wait for the next list, which costs nothing
 * more. The rest fail with OVERLOADED, and may retry when that list has been read.
 */
export async function openKeyring(options: KeyringOptions): Promise<Keyring> {
  const { apiKeys, log, clock, listIntervalMs = 2_000 } = options
  let given = new Map<string, Key>()
  let held = new Map<string, Held>()
  let certificates = new Map<string, Key[]>()
  /** The certificate names for which valid keys of several tenants exist. */
  let sharedNames = new Set<string>()
  const sought = new Map<string, Promise<Key | undefined>>()
  const absent = new Map<string, number>()
  let lookups = { second: 0, count: 0 }
  let waiting = 0
  /** Settles when the next read of the list ends. */
  let next = promised()
  /** When the read of the newest list began. */
  let listAsOf = Number.NEGATIVE_INFINITY
  /** The error of the last read of the list; undefined if it succeeded. */
  let lastError: unknown
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const isFresh = (asOf: number) => clock() - asOf <= freshMs

  const get = (id: string): Key | undefined => {
    const key = given.get(id)
    if (key !== undefined) return key
    const found = held.get(id)
    return found !== undefined && isFresh(found.asOf) ? found.key : undefined
  }

  const hold = (keys: readonly ApiKey[], asOf: number): void => {
    const now = new Map<string, Held>()
    for (const key of keys) now.set(key.id, { key: new Key(key), asOf })
    // Keeps the keys that were looked up since the read of the list began.
    for (const [id, one] of held) if (one.asOf > asOf && !now.has(id)) now.set(id, one)
    held = now
    tidy()
  }

  const tidy = (): void => {
    const stored = [...held.values()].map(({ key }) => key).filter(({ keyId }) => !given.has(keyId))
    certificates = keysByCertificateName([...given.values(), ...stored])
    const known = sharedNames
    sharedNames = new Set()
    for (const name of certificates.keys()) {
      const valid = validOf(name)
      if (areOfOneTenant(valid)) continue
      sharedNames.add(name)
      const what = "valid keys of several tenants have the same certificate name: clients with it are rejected"
      // Not the name, which may be an e-mail address.
      if (!known.has(name)) log.warn({ keys: valid.map(({ keyId }) => keyId) }, what)
    }
    for (const [id, until] of absent) if (until < clock()) absent.delete(id)
  }

  /** Returns the keys of a certificate name that have not expired. */
  const validOf = (name: string): Key[] => {
    const now = Date.now()
    return certificates.get(name)?.filter((key) => !key.isExpired(now)) ?? []
  }

  const list = async (): Promise<void> => {
    const asked = clock()
    const settled = next
    next = promised()
    try {
      hold(await inTime((signal) => apiKeys.listValid({ signal }, new Date())), asked)
      listAsOf = asked
      if (lastError !== undefined) log.info("the API keys can be read again")
      lastError = undefined
      settled.resolve()
    } catch (error) {
      if (lastError === undefined && !stopped) {
        const what = "the API keys of the database cannot be read: calls with them are rejected until they can"
        log.error({ err: error, in_ms: freshMs }, what)
      }
      lastError = error
      settled.reject(unavailable(error))
    }
    if (stopped) return
    timer = setTimeout(
      list,
      lastError === undefined ? Math.max(listIntervalMs - (clock() - asked), 0) : listIntervalMs / 2,
    )
    timer.unref()
  }

  const nextList = async (): Promise<void> => {
    if (waiting >= maxWaiting) throw new Failure("OVERLOADED", { retryAfterMs: listIntervalMs })
    waiting++
    try {
      await next.promise
    } finally {
      waiting--
    }
  }

  const lookUp = async (id: string): Promise<Key | undefined> => {
    const asked = clock()
    const now = new Date()
    const row = await inTime((signal) => apiKeys.get({ signal }, id))
    if (row === null || row.revoked !== undefined || (row.expires !== undefined && row.expires <= now)) {
      absent.set(id, clock() + absentMs)
      // Removes a key of a list that is older than this result.
      if ((held.get(id)?.asOf ?? asked) <= asked) held.delete(id)
      return undefined
    }
    const key = new Key(row)
    held.set(id, { key, asOf: asked })
    if (key.certificateName !== undefined) tidy()
    return key
  }

  const mayLookUp = (): boolean => {
    const second = Math.floor(clock() / 1_000)
    if (lookups.second !== second) lookups = { second, count: 0 }
    return lookups.count++ < lookupsPerSecond
  }

  const seek = async (id: string): Promise<Key | undefined> => {
    // The key may be known from an expired list, or be new. In an outage the call fails at once instead of waiting.
    if (lastError !== undefined && !isFresh(listAsOf)) throw unavailable(lastError)
    const until = absent.get(id)
    if (until !== undefined && until >= clock()) return undefined
    const asking = sought.get(id)
    if (asking !== undefined) return await asking
    if (!mayLookUp()) {
      await nextList()
      return get(id)
    }
    const looking = lookUp(id).finally(() => sought.delete(id))
    sought.set(id, looking)
    return await looking
  }

  await list()
  return {
    get,
    seek,
    ofCertificate(names) {
      for (const name of names) {
        const valid = validOf(name)
        if (!areOfOneTenant(valid)) break
        const [key] = valid
        if (key !== undefined) return get(key.keyId) ?? seek(key.keyId)
      }
      if (lastError !== undefined && !isFresh(listAsOf)) throw unavailable(lastError)
      return undefined
    },
    hasCertificate(names) {
      if (names.some((name) => certificates.has(name))) return true
      if (names.length > 0 && listAsOf === Number.NEGATIVE_INFINITY) throw unavailable(lastError)
      return false
    },
    give(keys) {
      given = new Map(keys.map((key) => [key.keyId, key]))
      tidy()
    },
    stop() {
      stopped = true
      clearTimeout(timer)
      next.reject(new Failure("SHUTTING_DOWN"))
    },
  }
}

function unavailable(cause: unknown): Failure {
  return new Failure("DATABASE_UNAVAILABLE", { cause })
}

/** Creates a promise whose rejection may stay unhandled. */
function promised() {
  const one = Promise.withResolvers<void>()
  one.promise.catch(() => {})
  return one
}

/** Reads with a timeout, after which the read leaves the queue. A statement that hangs is abandoned. */
async function inTime<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const abort = new AbortController()
  const timer = setTimeout(() => {
    late.reject(unavailable(new Error(`no answer in ${patienceMs} ms`)))
    abort.abort()
  }, patienceMs)
  try {
    return await Promise.race([ask(abort.signal), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
