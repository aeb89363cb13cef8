import { availableParallelism } from "node:os"

/** Keeps the event loop awake while something is waited for that usually comes soon. */
export interface BusyPoll {
  /** The wait for one more begins. */
  begin(): void
  /** The wait for one is over. */
  end(): void
}

/** How much each wait counts in how many of them are long. */
const gain = 1 / 8
/** After so many waits without it, staying awake is tried again: a wait that is slept through is longer for it. */
const tryEvery = 64

/**
 * An event loop that has nothing to do sleeps in the kernel, and to be woken takes it longer than many a service takes to
 * answer. So while one thing alone is waited for, it asks again and again instead of sleeping, other work in between: for
 * `maxMs` at the most, and only as long as most waits are over by then. With more under way something comes anyway.
 *
 * @param maxMs in milliseconds; 0 for never, as with a single core: who is waited for may need it.
 */
export function busyPoll(maxMs: number, cores = availableParallelism()): BusyPoll {
  const longest = cores > 1 ? maxMs : 0
  let waits = 0
  let since = 0
  /** The share of waits, lately, that took longer than it may stay awake: a few that take very long do not count for more. */
  let tooLong = 0
  let isPolling = false
  let slept = 0
  let isTrial = false

  function poll(): void {
    isPolling = waits === 1 && performance.now() - since < longest
    if (isPolling) setImmediate(poll)
  }

  return {
    begin() {
      if (++waits > 1) return
      since = performance.now()
      isTrial = false
      if (isPolling || longest === 0) return
      if (tooLong >= 0.5) {
        if (++slept < tryEvery) return
        isTrial = true
      }
      slept = 0
      isPolling = true
      setImmediate(poll)
    },
    end() {
      if (--waits > 0) return
      const wasTooLong = performance.now() - since < longest ? 0 : 1
      tooLong += (wasTooLong - tooLong) * (isTrial ? 1 : gain)
    },
  }
}
