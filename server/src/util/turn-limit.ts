/** The time, in milliseconds, after which no further piece of work begins in a turn of the event loop. */
export const longestTurnMs = 5

/**
 * Limits how long work that is done piece by piece keeps a turn of the event loop busy. The next piece waits for the next turn, so
 * that the process can accept connections and answer health checks in between. The returned function is called before each piece
 * of work, and waits for a turn in which there is time left. Pieces begin in the order in which they come.
 *
 * @param ms After this time, in milliseconds, no further piece begins in a turn.
 * @param now A monotonic clock, in milliseconds.
 */
export function turnLimit(ms: number, now: () => number = () => performance.now()): () => Promise<void> {
  /** When the first piece of this turn began; undefined if there was none. */
  let begun: number | undefined
  /** The pieces that wait for a later turn, in their order. For each of them `admitNext` is scheduled once. */
  const waiting: (() => void)[] = []
  const endTurn = () => {
    begun = undefined
  }
  const begin = () => {
    begun = now()
    setImmediate(endTurn)
  }
  const admitNext = () => {
    if (begun === undefined) begin()
    else if (now() - begun >= ms) return void setImmediate(admitNext)
    waiting.shift()?.()
  }
  return async () => {
    if (waiting.length === 0) {
      if (begun === undefined) return begin()
      if (now() - begun < ms) return
    }
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      setImmediate(admitNext)
    })
  }
}
