import { waitsUntil } from "../util/abort.js"
import { oneAtATime } from "../util/one-at-a-time.js"
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

/** Reads the reports of a tenant for all calls that wait in it. Each result was read after its caller asked. */
type Reader = () => Promise<{ at: number; reports: readonly CacheReport[] }>

/** The pause between two reads of the reports, in milliseconds. */
const pauseMs = 20

/**
 * Creates the function that waits. The clients of a process use no stale sessions once they have confirmed the commit,
 * or at the latest when the longest lease of that process has expired, because a ping that arrives after the commit is
 * answered behind the changes of the commit. While the reports cannot be read, calls keep waiting.
 *
 * A waiting call holds no slot in the concurrency limit. Only its stream, or in a pipeline its memory, limits how many wait. They share
 * the reads.
 */
export function cachesConfirmed({ reach, reports, now, pause }: AwaitingOptions): Confirmed {
  /** By tenant. */
  const readers = new Map<string, Reader>()

  function readerOf(tenant: string): Reader {
    let resting = Promise.resolve()
    return oneAtATime(async () => {
      await resting
      try {
        return { at: now(), reports: await reports(tenant) }
      } finally {
        resting = pause(pauseMs)
      }
    })
  }

  return async (tenant, signal) => {
    const begun = now()
    let sequence: bigint | undefined
    const read = readers.get(tenant) ?? readerOf(tenant)
    readers.set(tenant, read)
    const waits = waitsUntil(signal)
    /** Reads the reports. Returns whether no client uses sessions that were cached before this call. */
    const isOver = async () => {
      const found = await waits.for(read().catch(() => undefined))
      return found?.reports.every(
        ({ leaseMs, confirmed }) =>
          found.at >= begun + longest(leaseMs) || (sequence !== undefined && confirmed >= sequence),
      )
    }
    try {
      // A process without a report has no client with a cache, and usually there is none.
      if (await isOver()) return
      reach(tenant).then(
        (reached) => {
          sequence = reached
        },
        // Without a sequence, the call waits until the leases expire.
        () => {},
      )
      while (!(await isOver()));
    } finally {
      waits.end()
    }
  }
}
