/** Questions to a process whether it still runs. */
export interface Heartbeat {
  /** Something was heard of it. */
  heard(): void
  stop(): void
}

export const everyMs = 1_000

// Far more than a worker is ever busy with a single thing, such as the collection of its heap; what it loads before it is
// first heard of may take longer on a busy machine.
export const maxUnanswered = 10
const maxUnansweredAtFirst = 60

/**
 * Asks a process every second, and calls `onSilent` when it has not answered ten times in a row. Questions are counted
 * and not time: who asks asks nothing while it stands still itself, and must not blame others for that.
 */
export function heartbeat(ask: () => void, onSilent: (reason: string) => void): Heartbeat {
  let unanswered = 0
  let max = maxUnansweredAtFirst
  const timer = setInterval(() => {
    if (unanswered >= max) onSilent(`it has stood still for ${(max * everyMs) / 1000} seconds`)
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
