/** Regular checks whether a process still runs. */
export interface Heartbeat {
  /** Records that a message from the process was received. */
  heard(): void
  stop(): void
}

export const everyMs = 1_000

// Far more than a worker ever needs for a single task, such as a garbage collection. Loading its code before the first
// message can take longer on a busy machine.
export const maxUnanswered = 10
const maxUnansweredAtFirst = 60

/**
 * Pings a process every second, and calls `onSilent` when ten consecutive pings were not answered (60 before the first
 * message). It counts pings instead of time, because the pinging process sends none while it is blocked itself. Its own
 * pause must not be blamed on the worker.
 */
export function heartbeat(ask: () => void, onSilent: (reason: string) => void): Heartbeat {
  let unanswered = 0
  let max = maxUnansweredAtFirst
  const timer = setInterval(() => {
    if (unanswered >= max) onSilent(`it has been unresponsive for ${(max * everyMs) / 1000} seconds`)
    unanswered++
    ask()
  }, everyMs)
  return {
    heard() {
      unanswered = 0
      max = maxUnanswered
    },
    stop: () => clearInterval(timer),
  }
}
