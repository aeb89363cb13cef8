import type { Queue } from "./queue.js"

/** A writer may have to wait for a lock while it is inside; a reader does not. */
export type Kind = "read" | "write"

/** Lets a bounded number of units of work through at a time; the others wait in order. */
export interface Gate {
  /** Waits for a place and takes it; `leave()` gives it back. Throws as a Line does. */
  enter(kind: Kind, signal: AbortSignal | undefined): Promise<void>
  leave(kind: Kind): void
  /** How many are inside. */
  readonly inside: number
}

export interface GateOptions {
  /** How many may be inside. */
  places: number
  /** How many of them may be writers: when all wait for locks, the other places are still there for readers. */
  writers: number
}

const kinds = ["read", "write"] as const

export function gate(queue: Queue, { places, writers }: GateOptions): Gate {
  const lines = { read: queue.line(), write: queue.line() }
  let inside = 0
  let writing = 0

  const isFree = (kind: Kind): boolean => inside < places && (kind === "read" || writing < writers)
  const take = (kind: Kind): void => {
    inside++
    if (kind === "write") writing++
  }

  return {
    get inside() {
      return inside
    },
    async enter(kind, signal) {
      signal?.throwIfAborted()
      queue.throwIfClosed()
      if (isFree(kind)) take(kind)
      // Who lets it go on takes the place for it.
      else await lines[kind].wait(signal)
    },
    leave(kind) {
      inside--
      if (kind === "write") writing--
      // The place passes on at once to who came first of those who may have it: a newcomer cannot overtake.
      let next: Kind | undefined
      let first = Number.POSITIVE_INFINITY
      for (const one of kinds) {
        const came = isFree(one) ? lines[one].first : Number.POSITIVE_INFINITY
        if (came < first) {
          next = one
          first = came
        }
      }
      if (next !== undefined && lines[next].admit()) take(next)
    },
  }
}
