/** The database's clock, as this process knows it without asking. Times are in milliseconds since 1970-01-01T00:00:00Z. */
export interface DatabaseTime {
  /** Returns the time. Before the first reading it is that of this process's clock. */
  now(): number
  /** Returns how far this process's clock is ahead of the database's, in milliseconds. Negative: it is behind. */
  clockOffsetMs(): number
  /** Takes a reading of the database's clock into account, which must have whole milliseconds, cut off. Throws what `read` throws. */
  synchronize(read: () => Promise<Date>): Promise<void>
}

/**
 * Creates the time of a database. It runs with the monotonic clock of this process, so a step of the process's wall clock
 * has no effect on it. A suspension of the machine makes it late until the next reading.
 *
 * A reading proves only that the clock was read between the question and the answer. The time is corrected as far as it
 * contradicts that, so a slow answer does not make it worse.
 */
export function databaseTime(monotonic = () => performance.now(), timeOfDay = () => Date.now()): DatabaseTime {
  /** How far the database's clock is ahead of the monotonic clock. The wall clock has whole milliseconds, cut off. */
  let ahead = timeOfDay() + 0.5 - monotonic()
  return {
    now: () => Math.floor(monotonic() + ahead),
    clockOffsetMs: () => Math.round(timeOfDay() + 0.5 - monotonic() - ahead),
    async synchronize(read) {
      const asked = monotonic()
      const time = (await read()).getTime()
      const answered = monotonic()
      ahead = Math.min(Math.max(ahead, time - answered), time + 1 - asked)
    },
  }
}
