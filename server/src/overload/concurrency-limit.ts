import { Failure } from "../errors/failure.js"

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

interface Waiter {
  readonly since: number
  admit(): void
  reject(reason: unknown): void
}

interface Caller {
  active: number
  readonly waiting: Waiter[]
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
  let waiting = 0
  /** The keys with calls in progress or waiting, in the order in which they are served. */
  const callers = new Map<string, Caller>()
  let timer: NodeJS.Timeout | undefined
  let admission: NodeJS.Immediate | undefined

  const mayEnter = (caller: Caller) => active < maxCalls && caller.active < maxActive

  const count = (caller: Caller): void => {
    active++
    caller.active++
  }

  /** Whether calls of a key have waited so long without a break that it is not a burst. */
  const isOverloaded = ({ waiting, waitingSince }: Caller, time: number) =>
    waiting.length > 0 && time - waitingSince > maxWaitMs

  const isFull = (caller: Caller) =>
    caller.waiting.length >= maxWaiting.overloaded &&
    caller.waiting.length >= (isOverloaded(caller, now()) ? maxWaiting.overloaded : maxWaiting.burst)

  const forget = (key: string, caller: Caller): void => {
    if (caller.active === 0 && caller.waiting.length === 0) callers.delete(key)
  }

  /** Admits waiting calls, one key after the other. */
  const admitNext = (): void => {
    admission = undefined
    for (const [key, caller] of callers) {
      if (active >= maxCalls) return
      if (caller.waiting.length === 0 || !mayEnter(caller)) continue
      count(caller)
      caller.waiting.shift()?.admit()
      // The key moves to the end of the order, and the loop reaches it again after all others.
      callers.delete(key)
      callers.set(key, caller)
    }
  }

  const sweep = (): void => {
    const time = now()
    let someWait = false
    for (const [key, caller] of callers) {
      const longest = isOverloaded(caller, time) ? overloadedMaxWaitMs : maxWaitMs
      while (time - (caller.waiting[0]?.since ?? time) > longest) caller.waiting.shift()?.reject(overloaded())
      someWait ||= caller.waiting.length > 0
      forget(key, caller)
    }
    if (!someWait) {
      clearInterval(timer)
      timer = undefined
    }
  }

  const wait = (key: string, caller: Caller, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const since = now()
      const end = () => {
        waiting--
        signal.removeEventListener("abort", leave)
      }
      const waiter: Waiter = {
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
        caller.waiting.splice(caller.waiting.indexOf(waiter), 1)
        waiting--
        forget(key, caller)
        reject(signal.reason)
      }
      signal.addEventListener("abort", leave, { once: true })
      waiting++
      if (caller.waiting.push(waiter) === 1) caller.waitingSince = since
      timer ??= setInterval(sweep, sweepMs)
    })

  const callerOf = (key: string): Caller => {
    let caller = callers.get(key)
    if (caller === undefined) {
      caller = { active: 0, waiting: [], waitingSince: 0 }
      callers.set(key, caller)
    }
    return caller
  }

  // A call may end while it has given up its slot. It then leaves twice and enters again when the wait is over, so that the counts may be
  // negative in between.
  const leave = (key: string): void => {
    const caller = callerOf(key)
    active--
    caller.active--
    // Waiting calls are admitted in the next turn of the event loop. Calls on SQLite end in the turn in which they begin, so
    // that otherwise all waiting calls would run in one turn, in which no health check is answered.
    if (waiting > 0) admission ??= setImmediate(admitNext)
    forget(key, caller)
  }

  return {
    rejects(key) {
      const caller = callers.get(key)
      return caller !== undefined && isFull(caller)
    },
    enter(key, signal) {
      signal.throwIfAborted()
      const caller = callerOf(key)
      // A new call does not overtake waiting calls that are about to be admitted.
      if (admission === undefined && caller.waiting.length === 0 && mayEnter(caller)) {
        count(caller)
        return undefined
      }
      if (isFull(caller)) throw overloaded()
      return wait(key, caller, signal)
    },
    leave,
    load: () => ({ maxCalls, active, waiting, keys: callers.size }),
    async yieldWhile(key, waited) {
      leave(key)
      try {
        return await waited
      } finally {
        const caller = callerOf(key)
        count(caller)
        forget(key, caller)
      }
    },
  }
}

/** Creates the rejection of a call that exceeds the limit. */
export function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000 })
}
