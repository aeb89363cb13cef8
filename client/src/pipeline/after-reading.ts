/**
 * Calls `expired` when a time is over for which an answer is awaited. After a pause of the process, Node calls timers before it reads from
 * sockets, so that every answer would seem to be late. So what has arrived by then is read first.
 *
 * @param ms - The time, in milliseconds.
 * @param expired - Has no effect if the answer has been read. Clearing the timer does not prevent a call that is due.
 */
export function afterReading(ms: number, expired: () => void): NodeJS.Timeout {
  // An immediate runs directly after the sockets.
  return setTimeout(() => setImmediate(expired), ms)
}
