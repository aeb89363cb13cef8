/**
 * Reads one at a time for all who ask. Whoever asks while a read is active waits for the next, together with all others who ask:
 * what is answered was read after the question.
 */
export function oneAtATime<T>(read: () => Promise<T>): () => Promise<T> {
  /** The read that is active, and the one that begins when it has ended. */
  let active: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined
  return () => {
    if (next === undefined) {
      const begun = active.then(() => {
        next = undefined
        return read()
      })
      next = begun
      active = begun.catch(() => {})
    }
    return next
  }
}
