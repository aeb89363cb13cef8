import { linesOf, longestTurnMs, turnLimit, turnWhenLate } from "../../util/turn-limit.js"

const turn = turnLimit(longestTurnMs)

/**
 * Awaited before a request of a connection with an admitted call is handled; undefined if it may be handled at once. Once those of a turn
 * of the event loop have taken `longestTurnMs`, the others wait for a later turn, the connections one after the other. So new
 * connections are accepted in between, however many requests the others send. There is one event loop, and so one limit for all
 * listeners.
 */
export const arrivalTurn = turnWhenLate<object>(
  linesOf(
    (connection) => connection,
    (_connection, signal) => turn(signal),
  ),
  longestTurnMs,
)
