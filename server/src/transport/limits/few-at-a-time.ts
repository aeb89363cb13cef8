/**
 * How many requests of a connection are handled in one turn of the event loop, until a call of it was admitted. The turn in which they arrive
 * has twice as many, because setImmediate runs in the same one.
 */
export const perTurn = 5

/**
 * Returns a function that handles the requests of a connection in their order. Those that arrive in one turn of the event loop before a
 * call of the connection was admitted are handled in several turns, so that a client without a key, whose first bytes may be a hundred
 * requests, does not delay the calls of others by the time of all of them.
 *
 * @param isKnown Returns whether a call of the connection was admitted.
 */
export function fewAtATime(isKnown: () => boolean): (handle: () => void) => void {
  const waiting: (() => void)[] = []
  let left = perTurn
  const nextTurn = () => {
    left = perTurn
    while (waiting.length > 0 && (left > 0 || isKnown())) begin(waiting.shift())
  }
  const begin = (handle: (() => void) | undefined) => {
    if (left === perTurn) setImmediate(nextTurn)
    left--
    handle?.()
  }
  return (handle) => {
    if (isKnown() && waiting.length === 0) handle()
    else if (left > 0) begin(handle)
    else waiting.push(handle)
  }
}
