import { setTimeout as delay } from "node:timers/promises"

/**
 * Pauses those who read calls of which many are refused, so that refusing leaves the processor to the calls that are let
 * in. What is not read stays with the client: HTTP/2 lets it send no more than a window.
 */
export interface Breather {
  /** Resolves when a reader of whose calls so many were refused may go on. */
  pause(refused: number): Promise<void>
}

/** So many calls are refused in a millisecond, by all readers together. */
const refusedPerMs = 40
const maxPauseMs = 1_000

/** Shares the pace of refusing among readers: each waits for its own refused calls, times the readers that wait. */
export function breather(): Breather {
  let waiting = 0
  return {
    async pause(refused) {
      const ms = (refused / refusedPerMs) * (waiting + 1)
      // Less than a timer can tell.
      if (ms < 1) return
      waiting++
      await delay(Math.min(ms, maxPauseMs))
      waiting--
    },
  }
}
