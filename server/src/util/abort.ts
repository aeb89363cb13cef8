/**
 * Waits for a promise, but not longer than the signal lets it: rejects with its reason. Not a race with a promise that
 * lives as long as the signal, which would hold on to everything that was ever waited for.
 */
export function orAborted<T>(waited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return waited
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const onAbort = () => reject(signal.reason)
  const over = () => signal.removeEventListener("abort", onAbort)
  if (signal.aborted) onAbort()
  signal.addEventListener("abort", onAbort, { once: true })
  waited.then(resolve, reject)
  promise.then(over, over)
  return promise
}

/** Waits for one promise after the other, none longer than a signal lets it. */
export interface Waits {
  /** One at a time. Rejects with the signal's reason. */
  for<T>(waited: Promise<T>): Promise<T>
  end(): void
}

/**
 * The same for who waits often while the signal lives, with one listener for all. Listeners that come and go one over the
 * other leave a chain behind them, in which each holds on to the next and to what it waited for.
 */
export function waitsUntil(signal: AbortSignal): Waits {
  let giveUp: ((reason: unknown) => void) | undefined
  const onAbort = () => giveUp?.(signal.reason)
  signal.addEventListener("abort", onAbort, { once: true })
  return {
    for<T>(waited: Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      giveUp = reject
      if (signal.aborted) onAbort()
      waited.then(resolve, reject)
      return promise
    },
    end: () => signal.removeEventListener("abort", onAbort),
  }
}
