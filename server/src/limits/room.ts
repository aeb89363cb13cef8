/** Says how many calls may be under way. */
export interface Room {
  /** Takes a place; false if there is none. A place that was taken must be left once. */
  enter(): boolean
  leave(): void
  /** Whether there is none, for who can then refuse a call before it does anything else: it counts as refused. */
  refuses(): boolean
  /**
   * Gives a place up while something is waited for that is no work of the service, and takes it again then, whether there
   * is one or not.
   */
  away<T>(waited: Promise<T>): Promise<T>
}

export interface RoomOptions {
  /** How many calls may be under way at the most. */
  maxCalls: number
  /** How long calls may take, on average, before others are turned away for it, in milliseconds; 0 for any time. */
  delayMs: number
  /** So many may always be under way. With less than twice as many, a slow call does not wait for others, it is slow. */
  minCalls: number
  /** A monotonic clock, in milliseconds. */
  now: () => number
}

/** How often is decided how many calls there may be, in milliseconds. */
const intervalMs = 100
/** Under a flood calls get this share of the delay: what is let in should not suffer from the rest. */
const floodShare = 1 / 125
/** It is a flood as long as one call is refused for so many that are let in. */
const perRefused = 4
/** How fast the bound rises again when it is none. */
const growth = 1.5
/** For so long it must have been none, in milliseconds: longer than the breather pauses those who send it. */
const waveMs = 1_500

/**
 * Turns calls away when those before them would keep them waiting. What is measured is the time from the beginning of a
 * call to its end, whatever it waits for: the processor, the pool of connections, the database. By Little's law the mean
 * of it is the calls under way, integrated over time, divided by the calls that ended, so nothing is kept for each call.
 *
 * As long as calls take less than `delayMs`, only `maxCalls` counts: a burst is worked off, and so is what comes while the
 * database stops for a moment. When they take longer for as long, or many are refused because `maxCalls` is reached, no
 * more are let in than will end within a small part of `delayMs` at the pace of the last interval. The bound rises again,
 * interval by interval, when for a while hardly any call has had to be refused.
 */
export function room({ maxCalls, delayMs, minCalls, now }: RoomOptions): Room {
  const least = Math.min(minCalls, maxCalls)
  const slowCalls = Math.min(2 * minCalls, maxCalls)
  let underWay = 0
  let bound = maxCalls
  let begun = now()
  let at = begun
  /** Of this interval: the time that calls spent, and how many began, ended and were refused. */
  let spent = 0
  let entered = 0
  let ended = 0
  let refused = 0
  let slowMs = 0
  let floodAt = Number.NEGATIVE_INFINITY

  const look = (): void => {
    const time = now()
    spent += underWay * (time - at)
    at = time
    if (time - begun < intervalMs) return
    if (delayMs > 0) bound = nextBound(time - begun)
    begun = time
    spent = entered = ended = refused = 0
  }

  const nextBound = (lengthMs: number): number => {
    const isSlow = spent > delayMs * ended && spent > slowCalls * lengthMs
    slowMs = isSlow ? slowMs + lengthMs : 0
    const flood = refused * perRefused > entered
    if (flood || slowMs > delayMs) {
      floodAt = at
      const soon = Math.floor((ended / lengthMs) * delayMs * floodShare)
      return Math.min(Math.max(soon, least), maxCalls)
    }
    // Nobody looks while nobody calls: then this was many intervals.
    const growing = Math.min(lengthMs, at - floodAt - waveMs) / intervalMs
    return growing <= 0 ? bound : Math.min(maxCalls, Math.ceil(bound * growth ** Math.min(growing, 100)))
  }

  const refuses = (): boolean => {
    look()
    if (underWay < bound) return false
    refused++
    return true
  }

  return {
    refuses,
    enter() {
      if (refuses()) return false
      entered++
      underWay++
      return true
    },
    leave() {
      look()
      underWay--
      ended++
    },
    async away(waited) {
      look()
      underWay--
      try {
        return await waited
      } finally {
        look()
        underWay++
      }
    },
  }
}
