import { setTimeout as delay } from "node:timers/promises"
import { failsBy } from "./statement-error.js"

/** A write that conflicted and is about to be tried again. */
export interface RetryEvent {
  /** How often it was tried so far. */
  tries: number
  delayMs: number
  /** The database's code of the conflict, such as `ER_LOCK_DEADLOCK`. */
  code: string | undefined
}

export interface BackoffOptions {
  /** From 0 to 1, 1 excluded. */
  random: () => number
  onRetry?: ((event: RetryEvent) => void) | undefined
}

const maxTries = 10
const firstDelayMs = 4
const maxDelayMs = 500

/**
 * Tries again what fails by a conflict: 10 times at most, after a random delay below a bound that doubles from 4 to
 * 500 ms, so that those who met do not meet again. Throws the last conflict, or the signal's reason during a delay.
 */
export async function withBackoff<T>(
  { random, onRetry }: BackoffOptions,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!failsBy(error, "conflict") || tries === maxTries) throw error
      const delayMs = random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (tries - 1))
      onRetry?.({ tries, delayMs, code: error.code })
      await delay(delayMs, undefined, { signal }).catch((interruption) => {
        throw signal?.reason ?? interruption
      })
    }
  }
}
