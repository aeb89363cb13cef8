import { setTimeout as delay } from "node:timers/promises"

/**
 * Keeps refusing from taking the processor from the calls that are let in. Whoever is refused waits a little: the longer,
 * the more others wait. What is not read meanwhile stays with the client, as the window of HTTP/2 and the number of its
 * streams have it.
 */
export interface Breather {
  /** Resolves when the next message of a pipeline may be read, of which so many calls were refused. */
  afterMessage(refused: number): Promise<void>
  /** Resolves when a call that came alone may be refused. */
  beforeRefusal(): Promise<void>
}

/** About what it takes to refuse a call, in milliseconds: one of many in a message, and one that has a stream. */
const inMessageMs = 0.005
const aloneMs = 0.3
/** The share of the time that refusing may take, of each kind. */
const share = 0.1
/** The longest pause, in milliseconds: before more is read, or before a caller hears that it is refused. */
const maxPauseMs = 1_000

/** @param sleep waits for so many milliseconds; default: a timer. */
export function breather(sleep: (ms: number) => Promise<unknown> = delay): Breather {
  // Apart, or a few pipelines would wait for many calls that came alone.
  const pauser = (unitMs: number) => {
    let waiting = 0
    return async (units: number): Promise<void> => {
      // Everybody pays for its own, as if it had its part of the share.
      const ms = Math.min(((units * unitMs) / share) * (waiting + 1), maxPauseMs)
      // Less than a timer can tell; but others get their turn, also where a database answers in the same one (SQLite).
      if (ms < 0.5) {
        await new Promise((resolve) => setImmediate(resolve))
        return
      }
      waiting++
      await sleep(ms)
      waiting--
    }
  }
  const alone = pauser(aloneMs)
  return { afterMessage: pauser(inMessageMs), beforeRefusal: () => alone(1) }
}
