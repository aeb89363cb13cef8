/**
 * Returns a function that does some work, such as writing a log line, at most once in each interval for each name. It
 * remembers every name, so the caller bounds their number.
 *
 * @param clock A clock in milliseconds.
 */
export function atMostEvery(intervalMs: number, clock: () => number): (name: string, work: () => void) => void {
  const doneAt = new Map<string, number>()
  return (name, work) => {
    const now = clock()
    if (now - (doneAt.get(name) ?? Number.NEGATIVE_INFINITY) < intervalMs) return
    doneAt.set(name, now)
    work()
  }
}
