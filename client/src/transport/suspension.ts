/** How often the clock is looked at, in milliseconds. */
const lookMs = 500
/** A longer time between two looks means that the process did not run: a second of it is always found. In milliseconds. */
const gapMs = 900

/** Finds out that the process did not run for a while. */
export interface SuspensionWatch {
  /** Looks at once: before a connection is used. The first look begins the watch. */
  look(): void
  /** Ends the watch. */
  stop(): void
}

/**
 * Tells when the process was suspended: stopped, frozen with its function or container, or asleep with its machine. Others
 * may have dropped its connections meanwhile, and nobody could tell it: it would send its next call into the void.
 *
 * An event loop that was blocked for as long looks the same, so only do what is right then too.
 *
 * @param resumed - Called once for each suspension, before the look returns that finds it.
 * @param wallClock - In milliseconds. Not a monotonic clock: that stands still in a machine that is suspended.
 */
export function watchSuspension(resumed: () => void, wallClock: () => number = Date.now): SuspensionWatch {
  let seen = 0
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    const before = seen
    seen = wallClock()
    // A clock that was set forward looks like a suspension; one that was set back looks like nothing.
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
