import { orAborted } from "../util/abort.js"
import { longest } from "./client-stream.js"
import type { CacheReport } from "./hub.js"

export interface AwaitingOptions {
  /** See ChangeFeed. */
  reach: (tenant: string) => Promise<bigint>
  /** Reads the reports of all processes whose clients may use cached sessions. */
  reports: (tenant: string) => Promise<readonly CacheReport[]>
  /** The monotonic clock, in milliseconds. With one that may run ahead, a call would not wait until a lease has ended. */
  now: () => number
  pause: (ms: number) => Promise<void>
}

/** Waits until no client of the tenant uses sessions that earlier commits made stale. Rejects with the reason. */
export type Confirmed = (tenant: string, signal: AbortSignal) => Promise<void>

/** A call that waits. */
interface Waiting {
  /** When it began to wait. */
  readonly begun: number
  /** The last change at that time or later. Until it is known, the call waits for the ends of the leases. */
  sequence: bigint | undefined
  /** Whether the sequence was asked for. Most calls end at the first read, and need none. */
  isAsked: boolean
  readonly end: () => void
}

/** The pause between two reads of the reports, in milliseconds. */
const pauseMs = 20

/**
 * Creates the function that waits. The clients of a process use no stale sessions once they have confirmed the commit,
 * or at the latest when the longest lease of that process has expired, because a ping that arrives after the commit is
 * answered behind the changes of the commit. While the reports cannot be read, calls keep waiting.
 *
 * A waiting call holds no slot in the concurrency limit. Only its stream, or in a pipeline its memory, limits how many wait. They share
 * the reads, and a read that ends the wait of none of them wakes none of them.
 */
export function cachesConfirmed({ reach, reports, now, pause }: AwaitingOptions): Confirmed {
  /** By tenant. */
  const readers = new Map<string, (one: Waiting) => () => void>()

  /** Creates what reads the reports of a tenant while calls wait. A call is added to it, and removed with the returned function. */
  function readerOf(tenant: string) {
    const waiting = new Set<Waiting>()
    let isReading = false
    let resting = Promise.resolve()

    const readWhileAnyWaits = async () => {
      if (isReading) return
      isReading = true
      try {
        while (waiting.size > 0) {
          // Calls whose commit was the same are added one after the other, and share a read.
          await resting
          // What is read answers only those who asked before.
          const asked = [...waiting]
          const at = now()
          const found = await reports(tenant).catch(() => undefined)
          resting = pause(pauseMs)
          for (const one of asked) {
            if (!waiting.has(one)) continue
            if (!isOver(one, at, found)) ask(one)
            else {
              waiting.delete(one)
              one.end()
            }
          }
        }
      } finally {
        isReading = false
      }
    }

    const ask = (one: Waiting) => {
      if (one.isAsked) return
      one.isAsked = true
      reach(tenant).then(
        (reached) => {
          one.sequence = reached
        },
        () => {},
      )
    }

    return (one: Waiting) => {
      waiting.add(one)
      readWhileAnyWaits()
      return () => {
        waiting.delete(one)
      }
    }
  }

  return async (tenant, signal) => {
    const add = readers.get(tenant) ?? readerOf(tenant)
    readers.set(tenant, add)
    const over = Promise.withResolvers<void>()
    const remove = add({ begun: now(), sequence: undefined, isAsked: false, end: over.resolve })
    try {
      await orAborted(over.promise, signal)
    } finally {
      remove()
    }
  }
}

/**
 * Returns whether no client uses sessions that were cached before this call. A process without a report has no client with a cache, and
 * usually there is none.
 *
 * @param at When the reports were read.
 * @param reports Undefined if they could not be read.
 */
function isOver({ begun, sequence }: Waiting, at: number, reports: readonly CacheReport[] | undefined): boolean {
  return (
    reports?.every(
      ({ leaseMs, confirmed }) => at >= begun + longest(leaseMs) || (sequence !== undefined && confirmed >= sequence),
    ) ?? false
  )
}
