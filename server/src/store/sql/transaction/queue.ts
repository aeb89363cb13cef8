import { StoreError } from "../../../errors/store-error.js"

/** A first-in, first-out queue of waiters. Each one is admitted with a grant. */
export interface Line<Grant = void> {
  /** The number of waiters. */
  readonly size: number
  /** The sequence number of the first waiter, which orders waiters across lines; Infinity when the line is empty. */
  readonly first: number
  /** The time at which the first waiter arrived, by `performance.now()`; Infinity when the line is empty. */
  readonly since: number
  /**
   * Waits for `admit`, and returns its grant. Throws QUEUE_FULL at once when the line or the whole queue is full, the signal's reason when it
   * aborts first, and DATABASE_UNAVAILABLE once the queue is closed.
   */
  wait(signal: AbortSignal | undefined): Promise<Grant>
  /** Admits the first waiter. Returns false when the line is empty. */
  admit(grant: Grant): boolean
}

/** One waiter. The callbacks are cleared when the wait ends, because a Set may keep a reference to a removed entry. */
interface Entry<Grant> {
  readonly sequence: number
  readonly arrived: number
  admit: ((grant: Grant) => void) | undefined
  reject: ((reason: unknown) => void) | undefined
}

/** All waiters for the database, in lines that share one bound. */
export interface Queue {
  /** @param maxWaiters The most waiters in this line. Default: the limit of the queue. */
  line<Grant = void>(maxWaiters?: number): Line<Grant>
  /** Rejects all waiters, and every later one. */
  close(): void
  throwIfClosed(): void
  /** The number of waiters in all lines. */
  readonly size: number
}

/** @param limit The most waiters in all lines together. */
export function queue(limit: number): Queue {
  const all = new Set<Entry<never>>()
  let sequence = 0
  let closed = false

  const throwIfClosed = (): void => {
    if (closed) throw closedError()
  }

  function line<Grant>(maxWaiters = limit): Line<Grant> {
    // A Set keeps the order of arrival and removes a waiter that gives up without a search.
    const waiting = new Set<Entry<Grant>>()
    const first = (): Entry<Grant> | undefined => waiting.values().next().value
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
        return new Promise<Grant>((resolve, reject) => {
          const abort = () => entry.reject?.(signal?.reason)
          const end = () => {
            all.delete(entry)
            waiting.delete(entry)
            entry.admit = undefined
            entry.reject = undefined
            signal?.removeEventListener("abort", abort)
          }
          const entry: Entry<Grant> = {
            sequence: sequence++,
            arrived: performance.now(),
            admit(grant) {
              end()
              resolve(grant)
            },
            reject(reason) {
              end()
              reject(reason)
            },
          }
          signal?.addEventListener("abort", abort)
          all.add(entry)
          waiting.add(entry)
        })
      },
      admit(grant) {
        const next = first()
        next?.admit?.(grant)
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
      for (const entry of all) entry.reject?.(closedError())
    },
  }
}

function closedError(): StoreError {
  return new StoreError("DATABASE_UNAVAILABLE", "the store is closed")
}
