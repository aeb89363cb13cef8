/**
 * Waits for a promise, but not longer than the signal lets it: rejects with its reason. Not a race with a promise that
 * lives as long as the signal, which would hold on to everything that was ever waited for.
 */
export function orAborted<T>(waited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return waited
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    const over = () => signal.removeEventListener("abort", onAbort)
    waited.then(
      (value) => {
        over()
        resolve(value)
      },
      (reason) => {
        over()
        reject(reason)
      },
    )
  })
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
    for: (waited) =>
      new Promise((resolve, reject) => {
        giveUp = reject
        if (signal.aborted) onAbort()
        waited.then(resolve, reject)
      }),
    end: () => signal.removeEventListener("abort", onAbort),
  }
}
