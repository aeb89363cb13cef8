import { orAborted } from "./abort.js"

/** Waits for the turn of a piece of work of an owner. One whose signal has aborted needs no turn, and lets the next one pass. */
export type Turn<O> = (owner: O, signal?: AbortSignal) => Promise<void>

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
export function turnLimit(ms: number, now: () => number = () => performance.now()): ReturnType<typeof lineOf> {
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
export function lineOf(turn: (signal?: AbortSignal) => void | Promise<void>): (signal?: AbortSignal) => Promise<void> {
  let last = Promise.resolve()
  return (signal) => {
    const piece = last.then(() => (signal?.aborted ? undefined : turn(signal)))
    last = piece.then(untilDone)
    return piece
  }
}

/**
 * Gives each owner of work a line of its own for as long as a piece of it waits, so that nobody waits for more than one piece of each
 * other owner.
 *
 * @param nameOf Returns the name of an owner.
 * @param turn Waits for the turn of the first piece of an owner's line.
 */
export function linesOf<O>(nameOf: (owner: O) => unknown, turn: Turn<O>): Turn<O> {
  const lines = new Map<unknown, { wait: ReturnType<typeof lineOf>; pieces: number }>()
  return async (owner, signal) => {
    const name = nameOf(owner)
    const line = lines.get(name) ?? { wait: lineOf((ofPiece) => turn(owner, ofPiece)), pieces: 0 }
    lines.set(name, line)
    line.pieces++
    await line.wait(signal)
    line.pieces--
    if (line.pieces === 0) lines.delete(name)
  }
}

/** Resolves when what awaits a piece has run, and what awaits that in turn, so that the time of all of it counts. */
function untilDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/**
 * Lets short pieces of work begin at once while those of this turn of the event loop have taken less than `ms`, and none of an earlier
 * turn waits. After that each waits for `turn` of its owner. Returns undefined if a piece may begin.
 *
 * @param ms In milliseconds.
 * @param now A monotonic clock, in milliseconds.
 */
export function turnWhenLate<O>(
  turn: Turn<O>,
  ms: number,
  now: () => number = () => performance.now(),
): (owner: O) => Promise<void> | undefined {
  /** When the first piece of this turn began; undefined if there was none. */
  let begun: number | undefined
  const endTurn = () => {
    begun = undefined
  }
  let waiting = 0
  return (owner) => {
    if (begun === undefined) {
      begun = now()
      setImmediate(endTurn)
    }
    if (waiting === 0 && now() - begun < ms) return undefined
    waiting++
    return turn(owner).then(() => {
      waiting--
    })
  }
}

/** The bytes that are worth a turn: to read or write them takes much less than its time. */
const bytesOfTurn = 16 * 1024

/**
 * Makes large pieces of work wait for a turn. Returns undefined for a piece that takes much less than the time of a turn.
 *
 * @param turn Waits for the turn of a piece of an owner.
 */
export function turnIfLarge<O>(
  turn: Turn<O>,
): (owner: O, bytes: number, signal: AbortSignal) => Promise<void> | undefined {
  return (owner, bytes, signal) => (bytes < bytesOfTurn ? undefined : orAborted(turn(owner, signal), signal))
}

/**
 * Divides work on many items into pieces. The returned function is called before each item, with its size in bytes, and waits for a turn
 * before the item that completes a piece. So a page of small items waits for none: each of them would have to wait behind a large
 * item of somebody else. Work that nobody waits for any more ends at once, so that it takes neither time nor memory from others.
 *
 * @param signal Aborts when nobody waits for the work any more. The function then rejects with its reason.
 */
export function turnByBytes<O>(
  turn: Turn<O>,
  owner: O,
  signal: AbortSignal | undefined,
): (bytes: number) => Promise<void> | undefined {
  let piece = 0
  return (bytes) => {
    piece += bytes
    if (piece < bytesOfTurn) return undefined
    piece = 0
    return orAborted(turn(owner, signal), signal)
  }
}
