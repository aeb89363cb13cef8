import { setTimeout as delay } from "node:timers/promises"
import type { Waiter } from "../../store.js"
import { failsBy, type StatementError } from "../engine/statement-error.js"

/** A statement that conflicted with others and is about to be tried again. */
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
  /** How many may wait at the same time to try again; one more throws its failure. */
  limit: number
}

/**
 * Tries again what failed in a way that may be over soon: a conflict, 10 times at most; a lock that somebody else holds, until
 * the signal aborts, or for 10 s where there is none; what another member of a cluster may do, for 10 s. Each time it waits
 * for a random time below a bound that doubles from 4 to 500 ms, so that those who met do not meet again. Throws the last
 * failure, or the signal's reason while it waits.
 */
export type Backoff = <T>(waiter: Waiter, work: (tries: number) => Promise<T>) => Promise<T>

/** Who conflicts has met somebody who got on, so a few tries will do. */
const maxTries = 10
/** A lock goes when its holder does. A caller waits for that as long as it likes; this is for who does not say. */
const longestWaitMs = 10_000
const firstDelayMs = 4
const maxDelayMs = 500

export function backoff({ random, onRetry, limit }: BackoffOptions): Backoff {
  let waiting = 0

  async function wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    waiting++
    try {
      await delay(delayMs, undefined, { signal })
    } catch (interruption) {
      throw signal?.reason ?? interruption
    } finally {
      waiting--
    }
  }

  return async ({ signal, aside }, work) => {
    const begun = performance.now()
    const mayTryAgain = (error: unknown, tries: number): error is StatementError => {
      if (waiting >= limit) return false
      if (failsBy(error, "conflict")) return tries < maxTries
      const isEarly = performance.now() - begun < longestWaitMs
      return failsBy(error, "moved") ? isEarly : failsBy(error, "locked") && (signal !== undefined || isEarly)
    }
    for (let tries = 1; ; tries++) {
      try {
        return await work(tries)
      } catch (error) {
        if (!mayTryAgain(error, tries)) throw error
        const delayMs = random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (tries - 1))
        onRetry?.({ tries, delayMs, code: error.code })
        const waited = wait(delayMs, signal)
        await (aside === undefined ? waited : aside(waited))
      }
    }
  }
}
