import { setTimeout as delay } from "node:timers/promises"
import { calculateJwkThumbprint, importJWK, type JWK, type JWTPayload, SignJWT } from "jose"
import type { Logger } from "pino"
import { Failure } from "../errors/failure.js"
import type { SigningKeyStore } from "../store/store.js"
import type { SigningKey } from "../store/types.js"
import { peerSignal } from "../util/peer-timeout.js"
import { addKey, algorithm, endedKeys, hasKey } from "./rotation.js"

/** The keys of this process that sign who a user is. */
export interface IdentityKeys {
  /** Signs claims with the key that is in use now. Throws DATABASE_UNAVAILABLE if no key could be read yet. */
  sign(claims: JWTPayload): Promise<string>
  /** Returns the public keys as a JWK Set (RFC 7517, section 5), in JSON. */
  keySet(): string
  stop(): void
}

/** How often the keys are read, in milliseconds. */
const readMs = 60_000
/** The timeout of a read, in milliseconds. */
const timeoutMs = 5_000

/** A key that this process can use. */
interface LoadedKey {
  readonly usedFrom: number
  readonly publicKey: JWK
  readonly kid: string
  readonly privateKey: Awaited<ReturnType<typeof importJWK>>
}

/**
 * Reads the keys and, as one of all processes, makes the first one, makes the next one before one is too old, and
 * removes those whose assertions have ended. An outage of the database leaves the keys as they are.
 *
 * @param now the time of the database's clock, in milliseconds since 1970-01-01T00:00:00Z.
 * @param maxAgeMs how long a key signs, in milliseconds; 0: until an operator changes it.
 */
export async function identityKeys({
  store,
  log,
  now,
  maxAgeMs,
}: {
  store: SigningKeyStore
  log: Logger
  now: () => number
  maxAgeMs: number
}): Promise<IdentityKeys> {
  const stopping = new AbortController()
  let loaded: readonly LoadedKey[] = []
  let unreadable = 0

  async function read(): Promise<void> {
    const waiter = { signal: AbortSignal.any([stopping.signal, peerSignal(timeoutMs)]) }
    let stored = await store.list(waiter)
    if (!hasKey(stored, now(), maxAgeMs)) {
      await addKey(store, waiter, { keys: stored, now: now() })
      stored = await store.list(waiter)
    }
    const ended = endedKeys(stored, now())
    if (ended.length > 0) await store.remove(waiter, ended)
    const kept = stored.filter(({ number, privateKey }) => privateKey !== undefined && !ended.includes(number))
    loaded = await Promise.all(kept.map(load))
    const count = stored.filter(({ privateKey }) => privateKey === undefined).length
    if (count > unreadable) log.warn({ count }, "no encryption key of this process opens these signing keys")
    unreadable = count
  }

  const readOrWarn = () =>
    read().catch((err) => {
      if (!stopping.signal.aborted) log.warn({ err }, "the signing keys cannot be read: retrying")
    })

  async function follow(): Promise<void> {
    const options = { signal: stopping.signal, ref: false }
    for (;;) {
      await delay(readMs, undefined, options)
      await readOrWarn()
    }
  }

  await readOrWarn()
  follow().catch(() => {})

  return {
    async sign(claims) {
      const time = now()
      // If none does yet, the process that made the first one has a clock that is ahead of this one.
      const key = loaded.findLast(({ usedFrom }) => usedFrom <= time) ?? loaded[0]
      if (key === undefined) throw new Failure("DATABASE_UNAVAILABLE")
      return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid: key.kid, typ: "JWT" }).sign(key.privateKey)
    },
    keySet: () => JSON.stringify({ keys: loaded.map(({ publicKey }) => publicKey) }),
    stop: () => stopping.abort(),
  }
}

async function load({ privateKey, usedFrom }: SigningKey): Promise<LoadedKey> {
  const jwk: JWK = JSON.parse(privateKey as string)
  const { d: _, ...rest } = jwk
  const kid = await calculateJwkThumbprint(jwk)
  return {
    usedFrom: usedFrom.getTime(),
    publicKey: { ...rest, kid, alg: algorithm, use: "sig" },
    kid,
    privateKey: await importJWK(jwk, algorithm),
  }
}
