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
  const endTurn = () => {
    begun = undefined
  }
  const admit = (): void | Promise<void> => {
    if (begun === undefined) {
      begun = now()
      setImmediate(endTurn)
    } else if (now() - begun >= ms) return new Promise<void>((resolve) => setImmediate(resolve)).then(admit)
  }
  return lineOf(admit)
}

/**
 * Lets pieces of work wait one behind the other. Several lines before the same limit have their turns in turn, so that a piece in a
 * short line waits for one of each other line only.
 *
 * @param turn Waits for the turn of the first piece of the line.
 */
export function lineOf(turn: () => void | Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    const piece = last.then(turn)
    last = piece.then(untilDone)
    return piece
  }
}

/** Resolves when what awaits a piece has run, and what awaits that in turn, so that the time of all of it counts. */
function untilDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/**
 * Lets short pieces of work begin at once while those of this turn of the event loop have taken less than `ms`, and none of an earlier
 * turn waits. After that each waits for `turn`. Returns undefined if a piece may begin.
 *
 * @param ms In milliseconds.
 * @param now A monotonic clock, in milliseconds.
 */
export function turnWhenLate(
  turn: () => Promise<void>,
  ms: number,
  now: () => number = () => performance.now(),
): () => Promise<void> | undefined {
  /** When the first piece of this turn began; undefined if there was none. */
  let begun: number | undefined
  const endTurn = () => {
    begun = undefined
  }
  let waiting = 0
  return () => {
    if (begun === undefined) {
      begun = now()
      setImmediate(endTurn)
    }
    if (waiting === 0 && now() - begun < ms) return undefined
    waiting++
    return turn().then(() => {
      waiting--
    })
  }
}

/** The bytes that are worth a turn: to read or write them takes much less than its time. */
const bytesOfTurn = 16 * 1024

/**
 * Divides work on many items into pieces. The returned function is called before each item, with its size in bytes, and waits for a turn
 * before the item that completes a piece. So a page of small items waits for none: each of them would have to wait behind a large
 * item of somebody else.
 */
export function turnByBytes(turn: () => Promise<void>): (bytes: number) => Promise<void> | undefined {
  let piece = 0
  return (bytes) => {
    piece += bytes
    if (piece < bytesOfTurn) return undefined
    piece = 0
    return turn()
  }
}
