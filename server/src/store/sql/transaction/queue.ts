import { StoreError } from "../../../errors/store-error.js"
import type { Waiter } from "../../store.js"

/** One waiter, by what it wants. */
export interface Waiting<Wanted> extends Pick<Waiter, "ofTenant"> {
  readonly wanted: Wanted
}

/** Returns whether a waiter may be next. */
export type Accepts<Wanted> = (waiting: Waiting<Wanted>) => boolean

/**
 * Waiters in their order of arrival, but no tenant is next twice in a row while another one may be: where there is one connection, or one
 * lock for all rows, a cap leaves nothing to others. Each waiter says what it wants, and is admitted with a grant.
 */
export interface Line<Grant = void, Wanted = void> {
  /** The number of waiters. */
  readonly size: number
  /** Returns the first waiter of those that may be next. */
  first(accepts: Accepts<Wanted>): Waiting<Wanted> | undefined
  /**
   * Waits for `admit`, and returns its grant. Throws QUEUE_FULL at once when the line or the whole queue is full, the signal's reason when
   * it aborts first, and DATABASE_UNAVAILABLE once the queue is closed.
   */
  wait(waiter: Pick<Waiter, "signal" | "ofTenant">, wanted: Wanted): Promise<Grant>
  /** Admits the next waiter of those that may be next, and returns it; undefined if there is none. Default: any may be. */
  admit(grant: Grant, accepts?: Accepts<Wanted>): Waiting<Wanted> | undefined
  /** Records that somebody of a tenant has not had to wait, so that others are next. */
  passed(ofTenant: Waiter["ofTenant"]): void
}

/** One waiter. The callbacks are cleared when the wait ends, because a Set may keep a reference to a removed entry. */
interface Entry<Grant, Wanted> extends Waiting<Wanted> {
  admit: ((grant: Grant) => void) | undefined
  reject: ((reason: unknown) => void) | undefined
}

/** All waiters for the database, in lines that share one bound. */
export interface Queue {
  /** @param maxWaiters The most waiters in this line. Default: the limit of the queue. */
  line<Grant = void, Wanted = void>(maxWaiters?: number): Line<Grant, Wanted>
  /** Rejects all waiters, and every later one. */
  close(): void
  throwIfClosed(): void
  /** The number of waiters in all lines. */
  readonly size: number
}

/** @param limit The most waiters in all lines together. */
export function queue(limit: number): Queue {
  const all = new Set<Pick<Entry<never, unknown>, "reject">>()
  let closed = false

  const throwIfClosed = (): void => {
    if (closed) throw closedError()
  }

  function line<Grant, Wanted>(maxWaiters = limit): Line<Grant, Wanted> {
    const waiting = new Set<Entry<Grant, Wanted>>()
    let last: Waiter["ofTenant"] | null = null
    const first = (accepts: Accepts<Wanted>) => {
      for (const entry of waiting) if (accepts(entry)) return entry
      return undefined
    }
    return {
      get size() {
        return waiting.size
      },
      first,
      async wait({ signal, ofTenant }, wanted) {
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
          const entry: Entry<Grant, Wanted> = {
            ofTenant,
            wanted,
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
      admit(grant, accepts = () => true) {
        const next = first((entry) => entry.ofTenant !== last && accepts(entry)) ?? first(accepts)
        if (next !== undefined) last = next.ofTenant
        next?.admit?.(grant)
        return next
      },
      passed(ofTenant) {
        last = ofTenant
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
      for (const { reject } of all) reject?.(closedError())
    },
  }
}

function closedError(): StoreError {
  return new StoreError("DATABASE_UNAVAILABLE", "the store is closed")
}
