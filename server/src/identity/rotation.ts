import { exportJWK, generateKeyPair } from "jose"
import type { SigningKeyStore, Waiter } from "../store/store.js"
import type { SigningKey } from "../store/types.js"

/** The algorithm of the signatures, which every JWT library has: ECDSA on P-256 with SHA-256. */
export const algorithm = "ES256"

/**
 * How long a key is published before it signs and after it has signed, in milliseconds. It is longer than processes and
 * verifiers keep a list of keys, and than an assertion lives.
 */
export const publishedMs = 20 * 60_000

/** Returns whether a key of the list that can sign at `now`, or will, is younger than `maxAgeMs`; 0: whatever its age. */
export function hasKey(keys: readonly SigningKey[], now: number, maxAgeMs: number): boolean {
  return keys.some(
    ({ privateKey, usedFrom }) =>
      privateKey !== undefined && (maxAgeMs === 0 || usedFrom.getTime() + maxAgeMs > now + publishedMs),
  )
}

/**
 * Makes the next key. It signs once every verifier knows it, or at once if there is no other one that could.
 *
 * @param keys those that are stored.
 * @param atOnce whether it signs at once in any case.
 * @returns false if another process has just made it.
 */
export async function addKey(
  store: Pick<SigningKeyStore, "add">,
  waiter: Waiter,
  { keys, now, atOnce = false }: { keys: readonly SigningKey[]; now: number; atOnce?: boolean },
): Promise<boolean> {
  const signs = keys.some(({ privateKey, usedFrom }) => privateKey !== undefined && usedFrom.getTime() <= now)
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return store.add(waiter, {
    number: (keys.at(-1)?.number ?? 0) + 1,
    privateKey: JSON.stringify(await exportJWK(privateKey)),
    usedFrom: new Date(signs && !atOnce ? now + publishedMs : now),
  })
}

/**
 * Returns the numbers of the keys whose last assertions have ended. Keys that this process cannot open are another's,
 * which has other encryption keys by mistake.
 */
export function endedKeys(keys: readonly SigningKey[], now: number): number[] {
  const own = keys.filter(({ privateKey }) => privateKey !== undefined)
  const successorSigns = (index: number) =>
    own.slice(index + 1).some(({ usedFrom }) => usedFrom.getTime() + publishedMs < now)
  return own.filter((_, index) => successorSigns(index)).map(({ number }) => number)
}
