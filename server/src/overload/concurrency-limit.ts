import { Failure } from "../errors/failure.js"
import { oldest, Turns } from "../util/turns.js"

/** Limits the calls in progress, and shares the limit fairly among the API keys. */
export interface ConcurrencyLimit {
  /** Whether a call of this key would be rejected at once. */
  rejects(key: string): boolean
  /**
   * Admits a call, at once or when the promise resolves. Every admitted call must leave once.
   *
   * @param signal Ends the wait, with its reason.
   * @throws OVERLOADED at once if too many calls of the key wait already, or later if this call has waited too long.
   */
  enter(key: string, signal: AbortSignal): Promise<void> | undefined
  leave(key: string): void
  /**
   * Leaves while the call waits for something that costs the service no work, such as a lock, and enters again afterwards, even if
   * that exceeds the limit.
   */
  yieldWhile<T>(key: string, waited: Promise<T>): Promise<T>
  load(): LimitLoad
}

/** The load of the limit at one moment. */
export interface LimitLoad {
  /** The most calls that may be in progress. */
  readonly maxCalls: number
  readonly active: number
  readonly waiting: number
  /** The number of keys with calls in progress or waiting. */
  readonly keys: number
}

export interface ConcurrencyLimitOptions {
  /** The most calls that may be in progress. */
  maxCalls: number
  /** A monotonic clock, in milliseconds. */
  now: () => number
}

/** The fraction of the limit that one key can never use, even if no other key calls. */
const reservedForOthers = 0.1
/** The longest time that a call waits, in milliseconds. It is long enough to work off a burst. */
export const maxWaitMs = 500
/**
 * The longest time that a call waits when calls of its key have waited without a break for longer than `maxWaitMs`, in milliseconds.
 * A standing queue only makes every admitted call late.
 */
export const overloadedMaxWaitMs = 50
/** The interval at which calls that have waited too long are rejected, in milliseconds. */
const sweepMs = 10

/** The most calls in progress of one key. */
export function maxCallsOfKey(maxCalls: number): number {
  return maxCalls - Math.floor(maxCalls * reservedForOthers)
}

/** The most waiting calls of one key: in a burst, and when its calls wait without a break. */
export function maxWaitingOfKey(maxCalls: number): { burst: number; overloaded: number } {
  return { burst: 8 * maxCalls, overloaded: maxCalls }
}

interface PendingCall {
  readonly key: string
  readonly since: number
  admit(): void
  reject(reason: unknown): void
}

/** The calls of one key, without those that wait. */
interface KeyCalls {
  active: number
  /** Since when calls of the key have waited without a break. */
  waitingSince: number
}

/**
 * A fixed limit. Further calls wait in a queue for each key, and the keys are served round-robin. A key that floods the service
 * therefore only delays its own calls. A call that has waited too long is rejected. As in CoDel that time is long in a burst, and short
 * when the queue never empties.
 */
export function concurrencyLimit({ maxCalls, now }: ConcurrencyLimitOptions): ConcurrencyLimit {
  const maxActive = maxCallsOfKey(maxCalls)
  const maxWaiting = maxWaitingOfKey(maxCalls)
  let active = 0
  const waiting = new Turns<PendingCall>()
  /** The keys with calls in progress or waiting. */
  const keys = new Map<string, KeyCalls>()
  let timer: NodeJS.Timeout | undefined
  let admission: NodeJS.Immediate | undefined

  const mayEnter = (calls: KeyCalls) => active < maxCalls && calls.active < maxActive

  const count = (calls: KeyCalls): void => {
    active++
    calls.active++
  }

  /** Whether calls of a key have waited so long without a break that it is not a burst. */
  const isOverloaded = (key: string, time: number) =>
    waiting.countOf(key) > 0 && time - callsOf(key).waitingSince > maxWaitMs

  const isFull = (key: string) => {
    const count = waiting.countOf(key)
    return count >= maxWaiting.overloaded && (count >= maxWaiting.burst || isOverloaded(key, now()))
  }

  const forget = (key: string): void => {
    if (keys.get(key)?.active === 0 && waiting.countOf(key) === 0) keys.delete(key)
  }

  /** Admits waiting calls, one key after the other. */
  const admitNext = (): void => {
    admission = undefined
    while (active < maxCalls) {
      const next = waiting.take((calls, key) => (mayEnter(callsOf(key)) ? oldest(calls) : undefined))
      if (next === undefined) return
      count(callsOf(next.key))
      next.admit()
    }
  }

  const sweep = (): void => {
    const time = now()
    for (const [key, calls] of waiting) {
      const longest = isOverloaded(key, time) ? overloadedMaxWaitMs : maxWaitMs
      for (const call of calls) {
        if (time - call.since <= longest) break
        waiting.delete(key, call)
        call.reject(overloaded())
      }
      forget(key)
    }
    if (waiting.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }

  const wait = (key: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const since = now()
      const end = () => signal.removeEventListener("abort", leave)
      const pending: PendingCall = {
        key,
        since,
        admit() {
          end()
          resolve()
        },
        reject(reason) {
          end()
          reject(reason)
        },
      }
      const leave = () => {
        waiting.delete(key, pending)
        forget(key)
        reject(signal.reason)
      }
      signal.addEventListener("abort", leave, { once: true })
      if (waiting.countOf(key) === 0) callsOf(key).waitingSince = since
      waiting.add(key, pending)
      timer ??= setInterval(sweep, sweepMs)
    })

  const callsOf = (key: string): KeyCalls => {
    let calls = keys.get(key)
    if (calls === undefined) {
      calls = { active: 0, waitingSince: 0 }
      keys.set(key, calls)
    }
    return calls
  }

  // A call may end while it has given up its slot. It then leaves twice and enters again when the wait is over, so that the counts may be
  // negative in between.
  const leave = (key: string): void => {
    const calls = callsOf(key)
    active--
    calls.active--
    // Waiting calls are admitted in the next turn of the event loop. Calls on SQLite end in the turn in which they begin, so
    // that otherwise all waiting calls would run in one turn, in which no health check is answered.
    if (waiting.size > 0) admission ??= setImmediate(admitNext)
    forget(key)
  }

  return {
    rejects: isFull,
    enter(key, signal) {
      signal.throwIfAborted()
      const calls = callsOf(key)
      // A new call does not overtake waiting calls that are about to be admitted.
      if (admission === undefined && waiting.countOf(key) === 0 && mayEnter(calls)) {
        count(calls)
        return undefined
      }
      if (isFull(key)) throw overloaded()
      return wait(key, signal)
    },
    leave,
    load: () => ({ maxCalls, active, waiting: waiting.size, keys: keys.size }),
    async yieldWhile(key, waited) {
      leave(key)
      try {
        return await waited
      } finally {
        const calls = callsOf(key)
        count(calls)
        forget(key)
      }
    },
  }
}

/** Creates the rejection of a call that exceeds the limit. */
export function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000 })
}
