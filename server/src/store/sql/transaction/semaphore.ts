import type { Queue } from "./queue.js"

/** A writer may wait for a database lock while it holds its permit; a reader does not. */
export type Kind = "read" | "write"

/** Bounds the number of units of work that use the database at the same time. Further ones wait in their order of arrival. */
export interface Semaphore {
  /** Waits for a permit. Throws as Line.wait does. */
  acquire(kind: Kind, signal: AbortSignal | undefined): Promise<void>
  release(kind: Kind): void
  /** The number of permits that are held. */
  readonly held: number
}

export interface SemaphoreOptions {
  /** The number of permits. */
  permits: number
  /** How many of the permits writers may hold. The rest stay free for readers when all writers wait for locks. */
  writerPermits: number
}

const kinds = ["read", "write"] as const

export function semaphore(queue: Queue, { permits, writerPermits }: SemaphoreOptions): Semaphore {
  const lines = { read: queue.line(), write: queue.line() }
  let held = 0
  let heldByWriters = 0

  const isFree = (kind: Kind): boolean => held < permits && (kind === "read" || heldByWriters < writerPermits)
  const take = (kind: Kind): void => {
    held++
    if (kind === "write") heldByWriters++
  }

  return {
    get held() {
      return held
    },
    async acquire(kind, signal) {
      signal?.throwIfAborted()
      queue.throwIfClosed()
      if (isFree(kind)) take(kind)
      // `release` takes the permit on behalf of the waiter that it admits.
      else await lines[kind].wait(signal)
    },
    release(kind) {
      held--
      if (kind === "write") heldByWriters--
      if (queue.size === 0) return
      // The permit goes at once to the first waiter that may have it, so that a newcomer cannot overtake.
      let next: Kind | undefined
      let first = Number.POSITIVE_INFINITY
      for (const one of kinds) {
        const arrived = isFree(one) ? lines[one].first : Number.POSITIVE_INFINITY
        if (arrived < first) {
          next = one
          first = arrived
        }
      }
      if (next !== undefined && lines[next].admit()) take(next)
    },
  }
}
