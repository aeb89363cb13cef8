import { StoreError } from "../error.js"

/** Lets a bounded number of calls through at a time; the others wait in order. */
export interface Gate {
  /**
   * Waits for a place and takes it; `leave()` gives it back. Throws QUEUE_FULL at once when too many wait already, the
   * signal's reason when that comes first, and DATABASE_UNAVAILABLE once the gate is closed.
   */
  enter(signal: AbortSignal | undefined): Promise<void>
  leave(): void
  /** Turns away those who wait and all who come. */
  close(): void
}

/** @param places how many may be inside. @param queueLimit how many may wait. */
export function gate(places: number, queueLimit: number): Gate {
  // Undefined once it does not wait any more: a Set may hold on to what has left it (see dispatch/under-way.ts).
  interface Waiter {
    admit: (() => void) | undefined
    refuse: ((reason: unknown) => void) | undefined
  }
  // A Set keeps the order and forgets a waiter who gives up without a search.
  const waiting = new Set<Waiter>()
  let inside = 0
  let closed = false

  return {
    async enter(signal) {
      signal?.throwIfAborted()
      if (closed) throw closedError()
      if (inside < places) {
        inside++
        return
      }
      if (waiting.size >= queueLimit) throw new StoreError("QUEUE_FULL", "too many calls wait for the database")
      await new Promise<void>((resolve, reject) => {
        const abort = () => waiter.refuse?.(signal?.reason)
        const end = () => {
          waiting.delete(waiter)
          waiter.admit = undefined
          waiter.refuse = undefined
          signal?.removeEventListener("abort", abort)
        }
        const waiter: Waiter = {
          admit() {
            end()
            resolve()
          },
          refuse(reason) {
            end()
            reject(reason)
          },
        }
        signal?.addEventListener("abort", abort)
        waiting.add(waiter)
      })
    },
    leave() {
      // The place passes on without becoming free: a newcomer cannot overtake.
      const [next] = waiting
      if (next === undefined) inside--
      else next.admit?.()
    },
    close() {
      closed = true
      for (const waiter of waiting) waiter.refuse?.(closedError())
    },
  }
}

function closedError(): StoreError {
  return new StoreError("DATABASE_UNAVAILABLE", "the store is closed")
}
