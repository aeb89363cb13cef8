/** The interval between two readings of the clock, in milliseconds. */
const lookMs = 500
/** The longest time between two readings of a running process, in ms. Beyond it, it was suspended. */
const gapMs = 900

/** Detects that the process was suspended. */
export interface SuspensionWatch {
  /** Reads the clock at once. Must be called before a connection is used. The first call starts the watch. */
  look(): void
  /** Stops the watch. */
  stop(): void
}

/**
 * Detects that the process was suspended: stopped, frozen with its function or container, or asleep with its machine.
 * Peers may have dropped its connections meanwhile, which the process could not notice. It would send its next call on
 * a dead connection.
 *
 * An event loop that was blocked for as long looks the same, so the callback must only do what is correct in that case
 * too.
 *
 * @param resumed - Called once for each suspension, before the `look` that detects it returns.
 * @param wallClock - The time of day, in milliseconds. Not a monotonic clock, because that stops in a suspended
 * machine.
 */
export function watchSuspension(resumed: () => void, wallClock: () => number = Date.now): SuspensionWatch {
  let seen = 0
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    const before = seen
    seen = wallClock()
    // A clock that was set forward looks like a suspension. A clock that was set back has no effect.
    if (timer !== undefined && seen - before > gapMs) resumed()
    timer ??= setInterval(look, lookMs).unref()
  }

  return {
    look,
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}
