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
    waited.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort))
  })
}
