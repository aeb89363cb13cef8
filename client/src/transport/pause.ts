/** Waits for a time in milliseconds. Returns early when the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timeout)
      signal?.removeEventListener("abort", done)
      resolve()
    }
    const timeout = setTimeout(done, ms)
    signal?.addEventListener("abort", done)
    if (signal?.aborted) done()
  })
}
