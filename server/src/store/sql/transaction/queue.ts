import { StoreError } from "../../error.js"

/** Callers who wait for one thing, in their order. */
export interface Line {
  /** How many wait. */
  readonly size: number
  /** Increases with the time at which the first of them came; Infinity when nobody waits. */
  readonly first: number
  /** When he came, as `performance.now()` has it; Infinity when nobody waits. */
  readonly since: number
  /**
   * Waits for `admit()`. Throws QUEUE_FULL at once when too many wait in the queue already, the signal's reason when that
   * comes first, and DATABASE_UNAVAILABLE once the queue is closed.
   */
  wait(signal: AbortSignal | undefined): Promise<void>
  /** Lets the first of them go on; false when nobody waits. */
  admit(): boolean
}

/** Everybody who waits for the database, in lines that are bounded together. */
export interface Queue {
  /** @param most how many may wait in this line. Default: as many as in the queue. */
  line(most?: number): Line
  /** Rejects those who wait and all who come. */
  close(): void
  throwIfClosed(): void
  /** How many wait. */
  readonly size: number
}

/** @param limit how many may wait. */
export function queue(limit: number): Queue {
  // Undefined once it does not wait any more: a Set may hold on to what has left it (see rpc/active-calls.ts).
  interface Waiter {
    readonly ticket: number
    readonly came: number
    admit: (() => void) | undefined
    reject: ((reason: unknown) => void) | undefined
  }
  const all = new Set<Waiter>()
  let tickets = 0
  let closed = false

  const throwIfClosed = (): void => {
    if (closed) throw closedError()
  }

  function line(most = limit): Line {
    // A Set keeps the order and forgets a waiter who gives up without a search.
    const waiting = new Set<Waiter>()
    const first = (): Waiter | undefined => waiting.values().next().value
    return {
      get size() {
        return waiting.size
      },
      get since() {
        return first()?.came ?? Number.POSITIVE_INFINITY
      },
      get first() {
        return first()?.ticket ?? Number.POSITIVE_INFINITY
      },
      async wait(signal) {
        signal?.throwIfAborted()
        throwIfClosed()
        if (all.size >= limit || waiting.size >= most)
          throw new StoreError("QUEUE_FULL", "too many calls wait for the database")
        await new Promise<void>((resolve, reject) => {
          const abort = () => waiter.reject?.(signal?.reason)
          const end = () => {
            all.delete(waiter)
            waiting.delete(waiter)
            waiter.admit = undefined
            waiter.reject = undefined
            signal?.removeEventListener("abort", abort)
          }
          const waiter: Waiter = {
            ticket: tickets++,
            came: performance.now(),
            admit() {
              end()
              resolve()
            },
            reject(reason) {
              end()
              reject(reason)
            },
          }
          signal?.addEventListener("abort", abort)
          all.add(waiter)
          waiting.add(waiter)
        })
      },
      admit() {
        const next = first()
        next?.admit?.()
        return next !== undefined
      },
    }
  }

  return {
    line,
    throwIfClosed,
    get size() {
      return all.size
    },
    close() {
      closed = true
      for (const waiter of all) waiter.reject?.(closedError())
    },
  }
}

function closedError(): StoreError {
  return new StoreError("DATABASE_UNAVAILABLE", "the store is closed")
}
