import { Failure } from "../errors/failure.js"
import type { Owner } from "../util/owner.js"
import { sharesOfCalls } from "../util/shared-limits.js"
import { oldest, Turns } from "../util/turns.js"

/** Limits the calls in progress, and shares the limit fairly among tenants and their API keys. */
export interface ConcurrencyLimit {
  /** Whether a call of this owner would be rejected at once. */
  rejects(owner: Owner): boolean
  /**
   * Admits a call, at once or when the promise resolves. Every admitted call must leave once, with its cost.
   *
   * @param signal Ends the wait, with its reason.
   * @param cost What the call takes of the limit, at least 1; see CallCosts. It takes as many turns, at most the share of
   *   a key, and as many places, at most those that are no part of a tenant's share.
   * @throws OVERLOADED at once if too many calls of the key wait already, or later if this call has waited too long.
   */
  enter(owner: Owner, signal: AbortSignal, cost: number): Promise<void> | undefined
  leave(owner: Owner, cost: number): void
  load(): LimitLoad
}

/** The load of the limit at one moment. */
export interface LimitLoad {
  /** The most calls that may be in progress. */
  readonly maxCalls: number
  /** What they take of the limit: the sum of their costs. */
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
  /** Awaited before some calls that have waited too long are rejected; see turnLimit. */
  turn: () => Promise<void>
}

/** The longest time that a call waits, in milliseconds. It is long enough to work off a burst. */
export const maxWaitMs = 500
/**
 * The longest time that a call waits when calls of its key have waited without a break for longer than `maxWaitMs`, in milliseconds.
 * A standing queue only makes every admitted call late.
 */
export const overloadedMaxWaitMs = 50
/** The interval at which calls that have waited too long are rejected, in milliseconds. */
const sweepMs = 10

/** The calls that are rejected in one piece. A rejection takes about 30 µs. */
const rejectedPerPiece = 16

/** The most waiting calls of one key: in a burst, and when its calls wait without a break. */
export function maxWaitingOfKey(maxCalls: number): { burst: number; overloaded: number } {
  return { burst: 8 * maxCalls, overloaded: maxCalls }
}

interface PendingCall {
  readonly owner: Owner
  readonly cost: number
  readonly since: number
  admit(): void
  reject(reason: unknown): void
}

/** The calls of one key, without those that wait. */
interface KeyCalls {
  readonly tenant: { active: number }
  active: number
  /** The turns that its last call has cost beside its own, and that it has not left to other keys yet. */
  debt: number
  /** Since when calls of the key have waited without a break. */
  waitingSince: number
}

/**
 * A fixed limit. Further calls wait in a queue for each key. The tenants are served round-robin, and so are the keys of each, so that
 * a key that floods the service only delays its own calls. A call takes as many places, and turns, as its cost. A call that has waited
 * too long is rejected. As in CoDel that time is long in a burst, and short when the queue never empties.
 */
export function concurrencyLimit({ maxCalls, now, turn }: ConcurrencyLimitOptions): ConcurrencyLimit {
  const shares = sharesOfCalls(maxCalls)
  const maxWaiting = maxWaitingOfKey(maxCalls)
  let active = 0
  const waiting = new Turns<PendingCall>()
  /** The keys with calls in progress or waiting. */
  const keys = new Map<Owner["keyId"], KeyCalls>()
  /** The calls in progress of each tenant that has made a call. */
  const tenants = new Map<string, KeyCalls["tenant"]>()
  let timer: NodeJS.Timeout | undefined
  let admission: NodeJS.Immediate | undefined
  /** Whether a waiting call, whose turn it is, needs more than is left. */
  let isReserved = false
  let isRejecting = false

  /** A call takes no more places than the largest tenant leaves, so that calls of one tenant that last never keep it out. */
  const placesOf = (cost: number) => Math.min(cost, Math.max(1, maxCalls - shares.tenant))
  const isWithinShares = (calls: KeyCalls, cost: number) =>
    calls.active + placesOf(cost) <= shares.key && calls.tenant.active + placesOf(cost) <= shares.tenant
  const mayEnter = (calls: KeyCalls, cost: number) => active + placesOf(cost) <= maxCalls && isWithinShares(calls, cost)

  const count = (calls: KeyCalls, change: number): void => {
    active += change
    calls.active += change
    calls.tenant.active += change
  }

  /** Whether calls of a key have waited so long without a break that it is not a burst. */
  const isOverloaded = (owner: Owner, time: number) =>
    waiting.countOf(owner) > 0 && time - callsOf(owner).waitingSince > maxWaitMs

  const isFull = (owner: Owner) => {
    const count = waiting.countOf(owner)
    return count >= maxWaiting.overloaded && (count >= maxWaiting.burst || isOverloaded(owner, now()))
  }

  const forget = (owner: Owner): void => {
    if (keys.get(owner.keyId)?.active === 0 && waiting.countOf(owner) === 0) keys.delete(owner.keyId)
  }

  /**
   * Admits waiting calls, one tenant after the other. If not enough is left for the call whose turn it is, all others wait for it:
   * otherwise calls of less cost would be admitted instead, again and again.
   */
  const admitNext = (): void => {
    admission = undefined
    isReserved = false
    while (active < maxCalls && !isReserved) {
      let hasPaid = false
      const next = waiting.take((pending, owner) => {
        const calls = callsOf(owner)
        const call = oldest(pending)
        if (isReserved || call === undefined || !isWithinShares(calls, call.cost)) return undefined
        if (calls.debt > 0) {
          calls.debt--
          hasPaid = true
          return undefined
        }
        isReserved = !mayEnter(calls, call.cost)
        return isReserved ? undefined : call
      })
      if (next !== undefined) {
        const calls = callsOf(next.owner)
        count(calls, placesOf(next.cost))
        calls.debt = Math.min(next.cost, shares.key) - 1
        next.admit()
      } else if (!hasPaid) return
    }
  }

  const rejectAll = async (calls: readonly PendingCall[]): Promise<void> => {
    for (const [index, call] of calls.entries()) {
      if (index % rejectedPerPiece === 0) await turn()
      call.reject(overloaded())
    }
  }

  const sweep = (): void => {
    // What is late now is found by a later sweep, and still counts among the waiting calls.
    if (isRejecting) return
    const time = now()
    const late: PendingCall[] = []
    for (const { owner, items } of waiting) {
      const longest = isOverloaded(owner, time) ? overloadedMaxWaitMs : maxWaitMs
      for (const call of items) {
        if (time - call.since <= longest) break
        waiting.delete(owner, call)
        late.push(call)
      }
      forget(owner)
    }
    isRejecting = true
    rejectAll(late).finally(() => {
      isRejecting = false
    })
    if (waiting.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }

  const wait = (owner: Owner, signal: AbortSignal, cost: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const since = now()
      const end = () => signal.removeEventListener("abort", leave)
      const pending: PendingCall = {
        owner,
        cost,
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
        waiting.delete(owner, pending)
        forget(owner)
        reject(signal.reason)
      }
      signal.addEventListener("abort", leave, { once: true })
      if (waiting.countOf(owner) === 0) callsOf(owner).waitingSince = since
      waiting.add(owner, pending)
      timer ??= setInterval(sweep, sweepMs)
    })

  const callsOf = ({ tenant: name, keyId }: Owner): KeyCalls => {
    let calls = keys.get(keyId)
    if (calls === undefined) {
      const tenant = tenants.get(name) ?? { active: 0 }
      tenants.set(name, tenant)
      calls = { tenant, active: 0, debt: 0, waitingSince: 0 }
      keys.set(keyId, calls)
    }
    return calls
  }

  return {
    rejects: isFull,
    enter(owner, signal, cost) {
      signal.throwIfAborted()
      const calls = callsOf(owner)
      // A new call does not overtake waiting calls that are about to be admitted.
      const mustWait = admission !== undefined || (isReserved && waiting.size > 0) || waiting.countOf(owner) > 0
      if (!mustWait && mayEnter(calls, cost)) {
        count(calls, placesOf(cost))
        return undefined
      }
      if (isFull(owner)) throw overloaded()
      return wait(owner, signal, cost)
    },
    leave(owner, cost) {
      count(callsOf(owner), -placesOf(cost))
      // Waiting calls are admitted in the next turn of the event loop. Calls on SQLite end in the turn in which they begin, so
      // that otherwise all waiting calls would run in one turn, in which no health check is answered.
      if (waiting.size > 0) admission ??= setImmediate(admitNext)
      forget(owner)
    },
    load: () => ({ maxCalls, active, waiting: waiting.size, keys: keys.size }),
  }
}

/** Creates the rejection of a call that exceeds the limit. */
export function overloaded(): Failure {
  return new Failure("OVERLOADED", { retryAfterMs: 1_000 })
}
