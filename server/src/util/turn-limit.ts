import { setImmediate as nextTurn } from "node:timers/promises"

/**
 * Limits how long work that is done piece by piece keeps a turn of the event loop busy. The next piece waits for the next turn, so
 * that the process can accept connections and answer health checks in between. The returned function is called before each piece
 * of work, and waits for a turn in which there is time left.
 *
 * @param ms After this time, in milliseconds, no further piece begins in a turn.
 * @param now A monotonic clock, in milliseconds.
 */
export function turnLimit(ms: number, now: () => number = () => performance.now()): () => Promise<void> {
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
