import { setImmediate as nextTurn } from "node:timers/promises"

/** Called before each piece of work. Waits for a turn of the event loop in which there is time left. */
export type TurnLimit = () => Promise<void>

/**
 * Limits how long work that is done piece by piece keeps a turn of the event loop busy. The next piece waits for the next turn, so
 * that the process can accept connections and answer health checks in between.
 *
 * @param ms After this time, in milliseconds, no further piece begins in a turn.
 * @param now A monotonic clock, in milliseconds.
 */
export function turnLimit(ms: number, now: () => number = () => performance.now()): TurnLimit {
  /** When the first piece of this turn began; undefined if there was none. */
  let begun: number | undefined
  const endTurn = () => {
    begun = undefined
  }
  return async () => {
    while (begun !== undefined && now() - begun >= ms) await nextTurn()
    if (begun !== undefined) return
    begun = now()
    setImmediate(endTurn)
  }
}
