import type { Logger } from "pino"
import { Failure } from "../rpc/errors.js"
import type { ApiKeyStore } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { Key } from "./key.js"

/** The keys that calls are checked against, in memory. A key in it may have expired; none in it is revoked. */
export interface Keyring {
  /** The key with an id, if it is known and what is known of it is fresh. */
  get(id: string): Key | undefined
  /** The same for one that `get` does not give: asks the database, as often as that may be asked. */
  seek(id: string): Promise<Key | undefined>
  /** The key that goes with one of the names of a certificate. */
  ofCertificate(names: readonly string[]): Promise<Key | undefined> | Key | undefined
  /** Replaces the keys that were given beside those of the database. */
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
  /** When the database was asked that last said so. */
  asOf: number
}

/** How often the database is asked for all valid keys, in milliseconds, and sooner if that failed. */
const everyMs = 2_000
const againMs = 1_000
/** How long it may take to answer: what it does not say in time is known to be amiss before what it said grows old. */
const patienceMs = 2_000
/** How long the answer counts. A revoked key lets nobody in after 5 seconds; what is over is for the call itself. */
const freshMs = 4_500
/**
 * How many unknown ids are looked up in a second, and how many calls with others wait for the next list: few, because
 * they count as active calls while they wait, and must not make the service look slow to those whose keys it knows.
 */
const lookupsPerSecond = 20
const maxWaiting = 8
/** How long an id that no valid key has is remembered, in milliseconds. */
const absentMs = 2_000

/**
 * Reads the valid keys of the database again and again, and is ready when it has tried once. Throws never: without an
 * answer of the database its keys are neither valid nor invalid, and DATABASE_UNAVAILABLE is what every call gets.
 *
 * An id that is not in the list is looked up by itself, so that a new key works at once. Whoever tries ids at random
 * costs the database no more than 20 lookups a second: a few beyond wait for the next list, which costs nothing, and
 * the rest are OVERLOADED and may come again when it is there.
 */
export async function openKeyring({ apiKeys, log, clock }: KeyringOptions): Promise<Keyring> {
  let given = new Map<string, Key>()
  let held = new Map<string, Held>()
  let certificates = new Map<string, string>()
  const sought = new Map<string, Promise<Key | undefined>>()
  const absent = new Map<string, number>()
  let lookups = { second: 0, count: 0 }
  let waiting = 0
  /** Settles with the list that is asked for next. */
  let next = promised()
  /** When the list was asked for that is the newest. */
  let listAsOf = Number.NEGATIVE_INFINITY
  /** Why there is no newer list. */
  let trouble: unknown
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
    // Found by themselves since the list was asked for.
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
      if (trouble !== undefined) log.info("the API keys can be read again")
      trouble = undefined
      settled.resolve()
    } catch (error) {
      if (trouble === undefined && !stopped) {
        const what = "the API keys cannot be read: those of the database let nobody in until they can"
        log.error({ err: error, in_ms: freshMs }, what)
      }
      trouble = error
      settled.reject(unavailable(error))
    }
    if (stopped) return
    timer = setTimeout(list, trouble === undefined ? Math.max(everyMs - (clock() - asked), 0) : againMs)
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
      // Kept by a list that is older than this answer.
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
    // Known before the list grew old, or perhaps only since: in an outage nobody waits to hear of it.
    if (trouble !== undefined && !isFresh(listAsOf)) throw unavailable(trouble)
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
      if (trouble !== undefined && !isFresh(listAsOf)) throw unavailable(trouble)
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

/** A promise that nobody has to wait for. */
function promised() {
  const one = Promise.withResolvers<void>()
  one.promise.catch(() => {})
  return one
}

/** Gives up what has no answer in time: its place in the queue is free then, and a statement that hangs is left alone. */
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
