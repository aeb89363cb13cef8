/** The time that a peer has for what is awaited from it. */
export interface PeerTimeout {
  /** Ends the wait. */
  clear(): void
  /** Starts the time again. Has no effect after `clear`. */
  restart(): void
}

/**
 * Calls `expired` when a peer has not sent, or received, what is awaited from it in time, unless the wait is cleared before. After a pause of
 * its process Node calls timers before it reads from sockets and writes to them, so that every peer would seem to be late. So what the
 * sockets have by then is read and written first.
 *
 * @param ms The time, in milliseconds.
 */
export function peerTimeout(ms: number, expired: () => void): PeerTimeout {
  let turn: NodeJS.Immediate | undefined
  let isCleared = false
  // An immediate runs directly after the sockets.
  const timer = setTimeout(() => {
    turn = setImmediate(expired)
  }, ms).unref()
  return {
    clear() {
      isCleared = true
      clearTimeout(timer)
      clearImmediate(turn)
    },
    restart() {
      clearImmediate(turn)
      if (!isCleared) timer.refresh()
    },
  }
}

/** Returns a signal that aborts when a peer is late, as AbortSignal.timeout() does when a time is over. */
export function peerSignal(ms: number): AbortSignal {
  const late = new AbortController()
  peerTimeout(ms, () => late.abort(new DOMException(`no answer in ${ms} ms`, "TimeoutError")))
  return late.signal
}
