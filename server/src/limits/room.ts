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
/**
 * So far back counts what was, in milliseconds, and for so long at least the bound stays low: longer than the breather
 * pauses those who send a flood.
 */
const waveMs = 1_500
/** A flood lasts while in this share of the time calls are refused. Who calls in bursts is refused now and then. */
const lasting = 0.5
/** When the flood is there again so soon, it was too early, and the bound stays low so many times as long, up to a limit. */
const patience = { times: 4, maxMs: 24_000 }

/**
 * Turns calls away when those before them would keep them waiting. What is measured is the time from the beginning of a
 * call to its end, whatever it waits for: the processor, the pool of connections, the database. By Little's law the mean
 * of it is the calls under way, integrated over time, divided by the calls that ended, so nothing is kept for each call.
 *
 * As long as calls take less than `delayMs`, only `maxCalls` counts: a burst is worked off, and so is what comes while the
 * database stops for a moment. When they take longer for as long, or many are refused because `maxCalls` is reached, no
 * more are let in than will end within a small part of `delayMs` at the pace of the last interval. The bound rises again,
 * interval by interval, when most of the time hardly any call has to be refused. Not all of the time: a low bound refuses
 * the bursts of those who are no flood, and only those who are let in show which of both they are.
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
  /** Whether the bound is kept low, since when it is or is not, and for how long at least. */
  let isFlood = false
  let changedAt = Number.NEGATIVE_INFINITY
  let patienceMs = waveMs
  /** The share of the time in which many were refused; what is longer ago counts for less. */
  let refusing = 0

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
    const tooSlow = slowMs > delayMs
    const refusesMany = refused * perRefused > entered
    refusing *= Math.exp(-lengthMs / waveMs)
    if (refusesMany) refusing += 1 - Math.exp(-Math.min(lengthMs, intervalMs) / waveMs)

    const waits = isFlood && (at - changedAt < patienceMs || refusing >= lasting)
    // So many that the bound would have refused them if it were not low.
    const spare = maxCalls - bound
    const isTooMany = (refused - spare) * perRefused > entered + spare
    const wasFlood = isFlood
    isFlood = waits || tooSlow || isTooMany || (refusesMany && refusing >= lasting)
    if (isFlood !== wasFlood) {
      const soonAgain = isFlood && at - changedAt < patienceMs
      if (isFlood) patienceMs = soonAgain ? Math.min(patienceMs * patience.times, patience.maxMs) : waveMs
      changedAt = at
    }

    if (isFlood && !refusesMany && !tooSlow) return bound
    if (isFlood) return Math.min(Math.max(Math.floor((ended / lengthMs) * delayMs * floodShare), least), maxCalls)
    // Nobody looks while nobody calls: then this was many intervals, the first of which were those of the wave.
    const risingMs = Math.max(lengthMs - (wasFlood ? waveMs : 0), 0)
    return Math.min(maxCalls, Math.ceil(bound * growth ** Math.min(risingMs / intervalMs, 100)))
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
