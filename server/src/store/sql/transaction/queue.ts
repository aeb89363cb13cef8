import { StoreError } from "../../../errors/store-error.js"
import type { Owner } from "../../../util/owner.js"
import { Turns } from "../../../util/turns.js"
import type { Waiter } from "../../store.js"

/** Who waits, and until when. */
type Waits = Pick<Waiter, "signal" | "owner">

/** The owner of work of the service itself. No tenant has its name. */
export const theService: Owner = { tenant: "", keyId: undefined }

/** One waiter in a line. */
export interface Waiting<Kind> {
  /** Whose share it waits for. */
  readonly owner: Owner
  readonly kind: Kind
  /** The time at which it arrived, by `performance.now()`. */
  readonly arrived: number
}

/** Returns the kinds of which a waiter of an owner may be next. */
export type Accepted<Kind> = (owner: Owner) => readonly Kind[]

/**
 * A queue of waiters, in which tenants and their API keys take turns and the waiters of one key stay in their order of arrival. Each
 * waiter is admitted with a grant.
 */
export interface Line<Grant = void, Kind = undefined> {
  /** The number of waiters. */
  readonly size: number
  /** Returns the next waiter. Default: of any kind. */
  next(accepted?: Accepted<Kind>): Waiting<Kind> | undefined
  /**
   * Waits for `admit`, and returns its grant. Throws QUEUE_FULL at once when the line or the whole queue is full, or the key or its
   * tenant has more than its share of it, the signal's reason when it aborts first, and DATABASE_UNAVAILABLE once the queue is closed.
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

/**
 * @param limit The most waiters in all lines together. One tenant has at most as many as there are places left for all others, and one
 *   key as many as are left of these for other keys.
 */
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
      ((entries: Iterable<Entry<Grant, Kind>>, owner: Owner) => {
        const kinds = accepted(owner)
        if (kinds.length > 0) for (const entry of entries) if (kinds.includes(entry.kind)) return entry
        return undefined
      })
    return {
      get size() {
        return waiting.size
      },
      next: (accepted) => waiting.next(choose(accepted)),
      async wait({ signal, owner = theService }, kind) {
        signal?.throwIfAborted()
        throwIfClosed()
        const left = limit - all.size
        const ofTenant = all.countOfTenant(owner)
        const hasShare = owner === theService ? left > 0 : all.countOf(owner) < left - ofTenant
        if (!hasShare || waiting.size >= maxWaiters)
          throw new StoreError("QUEUE_FULL", "too many calls wait for the database")
        return new Promise<Grant>((resolve, reject) => {
          const abort = () => entry.reject?.(signal?.reason)
          const end = () => {
            all.delete(owner, entry)
            waiting.delete(owner, entry)
            entry.admit = undefined
            entry.reject = undefined
            signal?.removeEventListener("abort", abort)
          }
          const entry: Entry<Grant, Kind> = {
            owner,
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
          all.add(owner, entry)
          waiting.add(owner, entry)
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
      for (const { items } of all) for (const entry of items) entry.reject?.(closedError())
    },
  }
}

function closedError(): StoreError {
  return new StoreError("DATABASE_UNAVAILABLE", "the store is closed")
}
