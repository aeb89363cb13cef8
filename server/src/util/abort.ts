/**
 * Waits for a promise until the signal aborts, and then rejects with the signal's reason. This is not Promise.race with
 * a promise that lives as long as the signal, because that would retain every promise that was ever awaited.
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

/** Waits for one promise after the other, each until a signal aborts. */
export interface Waits {
  /** Waits for one promise at a time. Rejects with the signal's reason. */
  for<T>(waited: Promise<T>): Promise<T>
  end(): void
}

/**
 * The same for many waits with one signal, which share one listener. Listeners that are added and removed in
 * overlapping order leave a chain in memory, in which each one retains the next one and the promise that it waited for.
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
