import { Failure } from "../rpc/errors.js"

/** Bounds the calls in progress, and shares the places among the keys that want them. */
export interface ConcurrencyLimit {
  /** Whether a call of this key would be rejected at once. */
  rejects(key: string): boolean
  /**
   * Takes a place, at once or when the promise resolves. A place that was taken must be left once.
   *
   * @param signal Ends the wait, with its reason.
   * @throws OVERLOADED at once if too many calls of the key wait already, later if this one has waited too long.
   */
  enter(key: string, signal: AbortSignal): Promise<void> | undefined
  leave(key: string): void
  /**
   * Gives a place up while something is waited for that is no work of the service, and takes it again then, whether there
   * is one or not.
   */
  away<T>(key: string, waited: Promise<T>): Promise<T>
  load(): LimitLoad
}

/** How busy it is, at a moment. */
export interface LimitLoad {
  /** How many calls may be in progress. */
  readonly places: number
  readonly active: number
  readonly waiting: number
  /** How many keys have calls in progress or waiting. */
  readonly keys: number
}

export interface ConcurrencyLimitOptions {
  /** How many calls may be in progress. */
  maxCalls: number
  /** A monotonic clock, in milliseconds. */
  now: () => number
}

/** The share of the places that one key leaves to others, also when nobody else calls. */
const leftToOthers = 0.1
/** How long a call waits for a place, in milliseconds: a burst is worked off. */
export const patienceMs = 500
/** The same where calls of its key have waited without a break for longer than that: what is let in should not be old. */
export const lastingPatienceMs = 50
/** How often is looked for calls that have waited too long, in milliseconds. */
const sweepMs = 10

/** How many of so many places one key gets. */
export function shareOf(maxCalls: number): number {
  return maxCalls - Math.floor(maxCalls * leftToOthers)
}

/** How many calls of one key may wait, with so many places: in a burst, and where calls of the key wait all the time. */
export function waitersOf(maxCalls: number): { burst: number; lasting: number } {
  return { burst: 8 * maxCalls, lasting: maxCalls }
}

interface Waiter {
  readonly since: number
  admit(): void
  reject(reason: unknown): void
}

interface Caller {
  active: number
  readonly waiting: Waiter[]
  /** Since when without a break somebody has waited. */
  waitingSince: number
}

/**
 * A fixed limit. Calls beyond it wait, key by key: each place that becomes free goes to the next key in turn, so whoever
 * floods the service waits behind its own calls only. Who has waited too long is rejected (CoDel: in a burst that is long,
 * in a queue that does not end it is short).
 */
export function concurrencyLimit({ maxCalls, now }: ConcurrencyLimitOptions): ConcurrencyLimit {
  const share = shareOf(maxCalls)
  const waiters = waitersOf(maxCalls)
  let active = 0
  let waiting = 0
  /** Those who have calls in progress or waiting, in the order of their turns. */
  const callers = new Map<string, Caller>()
  let timer: NodeJS.Timeout | undefined
  let admission: NodeJS.Immediate | undefined

  const hasPlace = (caller: Caller) => active < maxCalls && caller.active < share

  const take = (caller: Caller): void => {
    active++
    caller.active++
  }

  /** Whether calls of a key have waited for so long without a break that it is no burst. */
  const isLasting = ({ waiting, waitingSince }: Caller, time: number) =>
    waiting.length > 0 && time - waitingSince > patienceMs

  const isFull = (caller: Caller) =>
    caller.waiting.length >= waiters.lasting &&
    caller.waiting.length >= (isLasting(caller, now()) ? waiters.lasting : waiters.burst)

  const forget = (key: string, caller: Caller): void => {
    if (caller.active === 0 && caller.waiting.length === 0) callers.delete(key)
  }

  /** Gives free places to those who wait, one key after the other. */
  const admitNext = (): void => {
    admission = undefined
    for (const [key, caller] of callers) {
      if (active >= maxCalls) return
      if (caller.waiting.length === 0 || !hasPlace(caller)) continue
      take(caller)
      caller.waiting.shift()?.admit()
      // To the end of the order: the loop comes to it again, after all others.
      callers.delete(key)
      callers.set(key, caller)
    }
  }

  const sweep = (): void => {
    const time = now()
    let someWait = false
    for (const [key, caller] of callers) {
      const patience = isLasting(caller, time) ? lastingPatienceMs : patienceMs
      while (time - (caller.waiting[0]?.since ?? time) > patience) caller.waiting.shift()?.reject(overloaded())
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

  // A call may end while it is away: then it leaves twice, and takes a place again that it does not need any more. So for
  // that time there may be one less than none.
  const leave = (key: string): void => {
    const caller = callerOf(key)
    active--
    caller.active--
    // In the next turn of the event loop: calls on SQLite end in the turn in which they begin, and those who wait would
    // all be served in one turn, in which nothing is read and no health check is answered.
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
      // Places that are about to be given to those who wait are not taken from them.
      if (admission === undefined && caller.waiting.length === 0 && hasPlace(caller)) {
        take(caller)
        return undefined
      }
      if (isFull(caller)) throw overloaded()
      return wait(key, caller, signal)
    },
    leave,
    load: () => ({ places: maxCalls, active, waiting, keys: callers.size }),
    async away(key, waited) {
      leave(key)
      try {
        return await waited
      } finally {
        const caller = callerOf(key)
        take(caller)
        forget(key, caller)
      }
    },
  }
}

/** Rejects a call that there is no place for. */
export function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000 })
}
