import { StoreError } from "../../../errors/store-error.js"
import { Turns } from "../../../util/turns.js"
import type { Waiter } from "../../store.js"

/** Who waits: until when, and for which API key. */
type Waits = Pick<Waiter, "signal" | "limitKey">

/** One waiter in a line. */
export interface Waiting<Kind> {
  /** The API key that it waits for; the empty string for work of the service itself. */
  readonly key: string
  readonly kind: Kind
  /** The time at which it arrived, by `performance.now()`. */
  readonly arrived: number
}

/** Returns the kinds of which a waiter of an API key may be next. */
export type Accepted<Kind> = (key: string) => readonly Kind[]

/**
 * A queue of waiters, in which the API keys take turns and the waiters of one key stay in their order of arrival. Each waiter is
 * admitted with a grant.
 */
export interface Line<Grant = void, Kind = undefined> {
  /** The number of waiters. */
  readonly size: number
  /** Returns the next waiter. Default: of any kind. */
  next(accepted?: Accepted<Kind>): Waiting<Kind> | undefined
  /**
   * Waits for `admit`, and returns its grant. Throws QUEUE_FULL at once when the line or the whole queue is full, or the key has more than
   * its share of it, the signal's reason when it aborts first, and DATABASE_UNAVAILABLE once the queue is closed.
   */
  wait(waiter: Waits, kind: Kind): Promise<Grant>
  /** Admits the next waiter, and returns it; undefined if there is none. */
  admit(grant: Grant, accepted?: Accepted<Kind>): Waiting<Kind> | undefined
}

/** One waiter. The callbacks are cleared when the wait ends, because a Set may keep a reference to a removed entry. */
interface Entry<Grant, Kind> extends Waiting<Kind> {
  admit: ((grant: Grant) => void) | undefined
  reject: ((reason: unknown) => void) | undefined
}

/** All waiters for the database, in lines that share one bound. */
export interface Queue {
  /** @param maxWaiters The most waiters in this line. Default: the limit of the queue. */
  line<Grant = void, Kind = undefined>(maxWaiters?: number): Line<Grant, Kind>
  /** Rejects all waiters, and every later one. */
  close(): void
  throwIfClosed(): void
  /** The number of waiters in all lines. */
  readonly size: number
}

/** @param limit The most waiters in all lines together. One API key has at most as many as there are places left for all others. */
export function queue(limit: number): Queue {
  const all = new Turns<Pick<Entry<never, unknown>, "reject">>()
  let closed = false

  const throwIfClosed = (): void => {
    if (closed) throw closedError()
  }

  function line<Grant, Kind>(maxWaiters = limit): Line<Grant, Kind> {
    const waiting = new Turns<Entry<Grant, Kind>>()
    const choose = (accepted: Accepted<Kind> | undefined) =>
      accepted &&
      ((entries: Iterable<Entry<Grant, Kind>>, key: string) => {
        const kinds = accepted(key)
        if (kinds.length > 0) for (const entry of entries) if (kinds.includes(entry.kind)) return entry
        return undefined
      })
    return {
      get size() {
        return waiting.size
      },
      next: (accepted) => waiting.next(choose(accepted)),
      async wait({ signal, limitKey = "" }, kind) {
        signal?.throwIfAborted()
        throwIfClosed()
        const mostOfKey = limitKey === "" ? limit : limit - all.size
        if (all.size >= limit || waiting.size >= maxWaiters || all.countOf(limitKey) >= mostOfKey)
          throw new StoreError("QUEUE_FULL", "too many calls wait for the database")
        return new Promise<Grant>((resolve, reject) => {
          const abort = () => entry.reject?.(signal?.reason)
          const end = () => {
            all.delete(limitKey, entry)
            waiting.delete(limitKey, entry)
            entry.admit = undefined
            entry.reject = undefined
            signal?.removeEventListener("abort", abort)
          }
          const entry: Entry<Grant, Kind> = {
            key: limitKey,
            kind,
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
          all.add(limitKey, entry)
          waiting.add(limitKey, entry)
        })
      },
      admit(grant, accepted) {
        const next = waiting.take(choose(accepted))
        next?.admit?.(grant)
        return next
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
      for (const [, entries] of all) for (const entry of entries) entry.reject?.(closedError())
    },
  }
}

function closedError(): StoreError {
  return new StoreError("DATABASE_UNAVAILABLE", "the store is closed")
}
