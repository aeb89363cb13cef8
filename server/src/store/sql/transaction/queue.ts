import { StoreError } from "../../../errors/store-error.js"

/** A first-in, first-out queue of waiters for one resource. */
export interface Line {
  /** The number of waiters. */
  readonly size: number
  /** The sequence number of the first waiter, which orders waiters across lines; Infinity when the line is empty. */
  readonly first: number
  /** The time at which the first waiter arrived, by `performance.now()`; Infinity when the line is empty. */
  readonly since: number
  /**
   * Waits for `admit()`. Throws QUEUE_FULL at once when the line or the whole queue is full, the signal's reason when it
   * aborts first, and DATABASE_UNAVAILABLE once the queue is closed.
   */
  wait(signal: AbortSignal | undefined): Promise<void>
  /** Admits the first waiter. Returns false when the line is empty. */
  admit(): boolean
}

/** All waiters for the database, in lines that share one bound. */
export interface Queue {
  /** @param maxWaiters The most waiters in this line. Default: the limit of the queue. */
  line(maxWaiters?: number): Line
  /** Rejects all waiters, and every later one. */
  close(): void
  throwIfClosed(): void
  /** The number of waiters in all lines. */
  readonly size: number
}

/** @param limit The most waiters in all lines together. */
export function queue(limit: number): Queue {
  // The callbacks are cleared when the wait ends, because a Set may keep a reference to a removed entry (see rpc/active-calls.ts).
  interface Waiter {
    readonly sequence: number
    readonly arrived: number
    admit: (() => void) | undefined
    reject: ((reason: unknown) => void) | undefined
  }
  const all = new Set<Waiter>()
  let sequence = 0
  let closed = false

  const throwIfClosed = (): void => {
    if (closed) throw closedError()
  }

  function line(maxWaiters = limit): Line {
    // A Set keeps the order of arrival and removes a waiter that gives up without a search.
    const waiting = new Set<Waiter>()
    const first = (): Waiter | undefined => waiting.values().next().value
    return {
      get size() {
        return waiting.size
      },
      get since() {
        return first()?.arrived ?? Number.POSITIVE_INFINITY
      },
      get first() {
        return first()?.sequence ?? Number.POSITIVE_INFINITY
      },
      async wait(signal) {
        signal?.throwIfAborted()
        throwIfClosed()
        if (all.size >= limit || waiting.size >= maxWaiters)
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
            sequence: sequence++,
            arrived: performance.now(),
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
