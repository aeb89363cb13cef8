import { setTimeout as delay } from "node:timers/promises"
import type { Waiter } from "../../store.js"
import { failsBy, type StatementError } from "../query/statement-error.js"

/** A statement that conflicted with another transaction and is about to be retried. */
export interface RetryEvent {
  /** The number of tries so far. */
  tries: number
  delayMs: number
  /** The database's code of the conflict, such as `ER_LOCK_DEADLOCK`. */
  code: string | undefined
}

export interface BackoffOptions {
  /** A random number from 0 to 1, 1 excluded. */
  random: () => number
  onRetry?: ((event: RetryEvent) => void) | undefined
  /**
   * How long work is retried for a lock, if its caller has no deadline, or for another member of a cluster, in
   * milliseconds. A lock is released when its holder ends, and the deadline of a caller bounds the wait for it.
   * Default: 10,000.
   */
  longestWaitMs?: number | undefined
  /** Whether other members of a cluster accept writes at the same time. Default: no. */
  hasOtherWriters?: boolean | undefined
}

/**
 * Retries work that failed for a reason that is probably temporary: a conflict, at most 10 tries, or like a lock where other members
 * accept writes; a lock that another transaction holds, until the signal aborts, or for `longestWaitMs` without a signal; a failure that
 * another member of a cluster may not have ("moved"), for `longestWaitMs`. The delay is random, below a bound that doubles from 4 to
 * 500 ms, so that the same transactions do not conflict again.
 * Throws the last failure, or the signal's reason when it aborts during a delay.
 */
export type Backoff = <T>(waiter: Waiter, work: (tries: number) => Promise<T>) => Promise<T>

/**
 * In a conflict one of the transactions succeeds, so that few tries suffice on one server. Another member of a cluster goes on with
 * its next transaction at once, and one transaction may lose against many.
 */
const maxTries = 10
const firstDelayMs = 4
const maxDelayMs = 500

export function backoff({ random, onRetry, longestWaitMs = 10_000, hasOtherWriters = false }: BackoffOptions): Backoff {
  return async ({ signal }, work) => {
    const begun = performance.now()
    const mayRetry = (error: unknown, tries: number): error is StatementError => {
      const isConflict = failsBy(error, "conflict")
      if (isConflict && tries < maxTries) return true
      const isEarly = performance.now() - begun < longestWaitMs
      if (failsBy(error, "moved")) return isEarly
      const isWaiting = failsBy(error, "locked") || (isConflict && hasOtherWriters)
      return isWaiting && (signal !== undefined || isEarly)
    }
    for (let tries = 1; ; tries++) {
      try {
        return await work(tries)
      } catch (error) {
        if (!mayRetry(error, tries)) throw error
        const delayMs = random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (tries - 1))
        onRetry?.({ tries, delayMs, code: error.code })
        await delay(delayMs, undefined, { signal }).catch((interruption) => {
          throw signal?.reason ?? interruption
        })
      }
    }
  }
}
