/**
 * Calls `expired` when a time is over for which an answer is awaited. After a pause of the process, Node calls timers before it reads from
 * sockets, so that every answer would seem to be late. So what has arrived by then is read first.
 *
 * @param ms - The time, in milliseconds.
 * @param expired - It must do nothing once the answer has been read, because clearing the timer does not prevent a call that is due.
 */
export function afterReading(ms: number, expired: () => void): ReturnType<typeof setTimeout> {
  // An immediate runs directly after the sockets. Not every runtime has them.
  return setTimeout(() => (typeof setImmediate === "function" ? setImmediate(expired) : expired()), ms)
}
