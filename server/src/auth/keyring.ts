import type { Logger } from "pino"
import { Failure } from "../rpc/errors.js"
import type { ApiKeyStore } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { Key } from "./key.js"

/** The keys that calls are checked against, in memory. A key may have expired; none was revoked when it was read. */
export interface Keyring {
  /** Returns the key with an id, if it is in memory and was read recently enough. */
  get(id: string): Key | undefined
  /** Returns a key that `get` does not find. It looks the key up in the database, within the limit for lookups. */
  seek(id: string): Promise<Key | undefined>
  /** Returns the key that belongs to one of the names of a certificate. */
  ofCertificate(names: readonly string[]): Promise<Key | undefined> | Key | undefined
  /** Replaces the keys of the configuration, which are used in addition to those of the database. */
  give(keys: readonly Key[]): void
  stop(): void
}

export interface KeyringOptions {
  apiKeys: ApiKeyStore
  log: Logger
  /** A clock for durations, in milliseconds. */
  clock: () => number
}

interface Held {
  key: Key
  /** When the read began that found the key last. */
  asOf: number
}

/** The interval between reads of all valid keys, in milliseconds, and the shorter one after a failure. */
const everyMs = 2_000
const againMs = 1_000
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
export async function openKeyring({ apiKeys, log, clock }: KeyringOptions): Promise<Keyring> {
  let given = new Map<string, Key>()
  let held = new Map<string, Held>()
  let certificates = new Map<string, string>()
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
    certificates = new Map()
    const now = Date.now()
    for (const key of [...[...held.values()].map((one) => one.key), ...given.values()]) {
      if (key.certificateName !== undefined && !key.isExpired(now)) certificates.set(key.certificateName, key.keyId)
    }
    for (const [id, until] of absent) if (until < clock()) absent.delete(id)
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
        const what = "the API keys cannot be read: those of the database let nobody in until they can"
        log.error({ err: error, in_ms: freshMs }, what)
      }
      lastError = error
      settled.reject(unavailable(error))
    }
    if (stopped) return
    timer = setTimeout(list, lastError === undefined ? Math.max(everyMs - (clock() - asked), 0) : againMs)
    timer.unref()
  }

  const nextList = async (): Promise<void> => {
    if (waiting >= maxWaiting) throw new Failure("OVERLOADED", { retryAfterMs: everyMs })
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
    if (key.certificateName) certificates.set(key.certificateName, id)
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
        const id = certificates.get(name)
        if (id !== undefined) return get(id) ?? seek(id)
      }
      if (lastError !== undefined && !isFresh(listAsOf)) throw unavailable(lastError)
      return undefined
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

/** Reads with a timeout, which releases the place in the queue. A statement that hangs is abandoned. */
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
