import { waitsUntil } from "../util/abort.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { longest } from "./hub.js"

/** The row in which a process reports on its clients of a tenant; see OwnRow. */
export interface CacheRow {
  leaseMs: number
  confirmed: bigint
}

export interface AwaitingOptions {
  /** See ChangeFeed. */
  reach: (tenant: string) => Promise<bigint>
  /** Reads the rows of all processes whose clients may use cached sessions. */
  rows: (tenant: string) => Promise<readonly CacheRow[]>
  /** A clock for durations, in milliseconds. */
  now: () => number
  pause: (ms: number) => Promise<void>
}

/**
 * Waits until no client of the tenant, of any process, uses cached sessions that commits before this call made stale.
 * Rejects with the signal's reason.
 */
export type Confirmed = (tenant: string, signal: AbortSignal) => Promise<void>

/** The result of a read, and when the read began. */
interface Found {
  at: number
  rows: readonly CacheRow[]
}

/** Reads the rows of a tenant for all calls that wait in it. Each result was read after its caller asked. */
interface Reader {
  /** Reads at once. */
  read(): Promise<Found>
  /** Reads after a pause, which is shared by all callers that arrive during it. */
  readLater(): Promise<Found>
  waiting: number
}

/** The pause between two reads of the rows, in milliseconds. */
const pauseMs = 20

/**
 * Creates the function that waits. The clients of a process use no stale sessions once they have confirmed the commit,
 * or at the latest when the longest lease of that process has expired, because a ping that arrives after the commit is
 * answered behind the news of the commit. While the rows cannot be read, calls keep waiting.
 *
 * A waiting call holds no slot in the concurrency limit, so nothing else limits how many calls wait. They share the
 * reads.
 */
export function cachesConfirmed({ reach, rows, now, pause }: AwaitingOptions): Confirmed {
  const readers = new Map<string, Reader>()

  function readerOf(tenant: string): Reader {
    let reader = readers.get(tenant)
    if (reader === undefined) {
      const read = oneAtATime(async () => ({ at: now(), rows: await rows(tenant) }))
      let later: Promise<Found> | undefined
      const readLater = () => {
        later ??= pause(pauseMs).then(() => {
          later = undefined
          return read()
        })
        return later
      }
      reader = { read, readLater, waiting: 0 }
      readers.set(tenant, reader)
    }
    return reader
  }

  return async (tenant, signal) => {
    const begun = now()
    let sequence: bigint | undefined
    // A process without a row has no client with sessions that were cached before this call.
    const isOver = ({ at, rows }: Found) =>
      rows.every(
        ({ leaseMs, confirmed }) => at >= begun + longest(leaseMs) || (sequence !== undefined && confirmed >= sequence),
      )
    const reader = readerOf(tenant)
    reader.waiting++
    const waits = waitsUntil(signal)
    const found = (asked: Promise<Found>) => waits.for(asked.catch(() => undefined))
    try {
      let last = await found(reader.read())
      if (last !== undefined && isOver(last)) return
      reach(tenant).then(
        (reached) => {
          sequence = reached
        },
        // Without a sequence, the call waits until the leases expire.
        () => {},
      )
      do last = await found(reader.readLater())
      while (last === undefined || !isOver(last))
    } finally {
      waits.end()
      reader.waiting--
      if (reader.waiting === 0) readers.delete(tenant)
    }
  }
}
