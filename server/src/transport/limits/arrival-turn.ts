import { linesOf, longestTurnMs, turnLimit, turnWhenLate } from "../../util/turn-limit.js"

/**
 * Awaited before a request of a connection is handled; undefined if it may be handled at once. Once those of a turn of the event loop have
 * taken their time, the others wait for a later turn, the connections one after the other. So new connections are accepted in between,
 * however many requests the others send. There is one event loop, and so one limit for all listeners.
 *
 * @param ms The time in a turn, in milliseconds.
 */
function arrivalTurn(ms: number): (connection: object) => Promise<void> | undefined {
  const turn = turnLimit(ms)
  return turnWhenLate(
    linesOf(
      (connection) => connection,
      (_connection, signal) => turn(signal),
    ),
    ms,
  )
}

/**
 * The turns of connections with an admitted call, and of those without one. Many of the latter do not lengthen the turns in which the former
 * have a share, which is the larger one.
 */
export const arrivalTurns = { known: arrivalTurn(2 * longestTurnMs), unknown: arrivalTurn(longestTurnMs) }
