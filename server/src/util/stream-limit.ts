/** The largest numbers of open streams: of one API key, and in all. */
export interface StreamLimits {
  readonly ofKey: number
  readonly inAll: number
}

/**
 * Counts open streams. The returned function opens a stream of a key, and returns the function that ends it, which may
 * be called more than once.
 *
 * @param reject Returns the error for a stream that exceeds a limit.
 */
export function streamLimit(
  limits: StreamLimits,
  reject: (whose: "the API key" | "the service") => Error,
): (key: string) => () => void {
  const ofKeys = new Map<string, number>()
  let inAll = 0
  return (key) => {
    if (inAll >= limits.inAll) throw reject("the service")
    if ((ofKeys.get(key) ?? 0) >= limits.ofKey) throw reject("the API key")
    const count = (change: 1 | -1) => {
      inAll += change
      const ofKey = (ofKeys.get(key) ?? 0) + change
      if (ofKey === 0) ofKeys.delete(key)
      else ofKeys.set(key, ofKey)
    }
    count(1)
    let isOpen = true
    return () => {
      if (isOpen) count(-1)
      isOpen = false
    }
  }
}
