/**
 * Returns a function that shares reads among its callers, with one read at a time. Callers that arrive during a read
 * share the next one. So each result was read after its caller asked.
 */
export function oneAtATime<T>(read: () => Promise<T>): () => Promise<T> {
  /** The active read, and the one that begins when it has ended. */
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
