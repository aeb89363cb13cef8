import type { Owner } from "../util/owner.js"

/** What calls of one method take of a concurrency limit. It is estimated by the answers that the key had before. */
export interface CallCosts {
  of(owner: Owner): number
  /** Records the size of an answer, in bytes. */
  answered(owner: Owner, bytes: number): void
}

/** The bytes of an answer that cost as much as a call without any. */
export const bytesOfCost = 16 * 1024

/**
 * How much of the estimate is left after an answer of no bytes. It falls slowly, because otherwise a key could have many large answers at
 * once after a few small ones.
 */
const leftPerAnswer = 7 / 8

/** The keys whose answers are remembered: those that called last. Keys come and go, and a forgotten one is like a new one. */
const mostKeys = 1000

/**
 * Creates the costs of a method. They keep a number for each of the last keys.
 *
 * @param firstBytes The size that is expected of a key's first answers.
 */
export function callCosts(firstBytes: number): CallCosts {
  const expected = new Map<Owner["keyId"], number>()
  return {
    of: ({ keyId }) => 1 + Math.floor((expected.get(keyId) ?? firstBytes) / bytesOfCost),
    answered({ keyId }, bytes) {
      const next = Math.max(bytes, (expected.get(keyId) ?? firstBytes) * leftPerAnswer)
      expected.delete(keyId)
      expected.set(keyId, next)
      if (expected.size > mostKeys) expected.delete(expected.keys().next().value)
    },
  }
}
