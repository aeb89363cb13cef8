import { waitsUntil } from "../util/abort.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { longest } from "./hub.js"

/** What a process has said of its clients of the tenant; see OwnRow. */
export interface CacheRow {
  leaseMs: number
  confirmed: bigint
}

export interface AwaitingOptions {
  /** See ChangeFeed. */
  reach: (tenant: string) => Promise<bigint>
  /** The rows of all processes whose clients may use what they keep. */
  rows: (tenant: string) => Promise<readonly CacheRow[]>
  /** A clock for durations, in milliseconds. */
  now: () => number
  pause: (ms: number) => Promise<void>
}

/**
 * Waits until no client of the tenant, of any process, uses what it kept of what was committed before this call. Rejects with
 * the signal's reason.
 */
export type Confirmed = (tenant: string, signal: AbortSignal) => Promise<void>

/** What a read has found, and when it began. */
interface Found {
  at: number
  rows: readonly CacheRow[]
}

/** The rows of a tenant, read for all who wait in it. What they are given was read after they asked. */
interface Reader {
  /** At once. */
  read(): Promise<Found>
  /** After a pause, which is the same for all who ask during it. */
  readLater(): Promise<Found>
  waiting: number
}

/** How often the rows are read, in milliseconds. */
const pauseMs = 20

/**
 * For each process, its clients use nothing old any more when they have confirmed it; and at the latest when the longest lease
 * of that process has passed: a ping that came after the commit was answered behind the news of it. While the rows cannot be
 * read it is waited.
 *
 * Who waits takes no place among the calls at work, so nothing else bounds how many wait: they share what is read.
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
    // A process that has no row yet has no client that keeps what was read before this.
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
        // Then the leases have to run out.
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
