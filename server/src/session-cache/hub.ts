import { Failure } from "../errors/failure.js"
import type { Changes } from "./changes.js"
import {
  ClientStream,
  type FollowRequest,
  type FollowResponse,
  type HubClient,
  type Lease,
  longest,
} from "./client-stream.js"

/** What a process reports of its clients of a tenant: their longest lease, and up to where all know everything. */
export interface CacheReport {
  leaseMs: number
  confirmed: bigint
}

export interface HubOptions {
  /** Calls the listener after every read of the tenant's changes. Returns the function that ends this. */
  follow: (listener: (changes: Changes) => void) => () => void
  /**
   * Writes the report, which expires after `ms` milliseconds. Of two calls the later one wins, in whatever order the
   * database executes them. Rejects if the report may not have been written.
   */
  write: (report: CacheReport, ms: number) => Promise<void>
  /** The clock of the changes and the leases: the monotonic one, in milliseconds, so that no lease counts for too short. */
  now: () => number
  /** The clock of the report, which others let expire: it also advances while the machine is suspended. */
  elapsed: () => number
  /** Calls `call` after `ms` milliseconds, unless the returned function is called before. */
  after: (ms: number, call: () => void) => () => void
  /** Called when the report could not be written. */
  onFailure?: (error: unknown) => void
  /** Called once when the hub has stopped. It then has no stream and no lease any more, and writes nothing. */
  onIdle?: () => void
}

/** The stream of one client. */
export interface HubStream {
  /** Handles a request of the client. Throws INVALID_FIELD. */
  receive(request: FollowRequest): void
  /** Returns the pending response for the client and removes it; undefined if there is none. */
  take(): FollowResponse | undefined
  /** Ends the stream. Its lease still counts, unless the client has said that it no longer uses its cache. */
  end(): void
}

export interface Hub {
  open(client: HubClient): HubStream
  /** The number of open streams, and of valid leases, including those of streams that have ended. */
  readonly load: { streams: number; leases: number }
  /** Stops writing the report. */
  stop(): void
}

/** How long a report is valid, and how long before its expiry it is written again, in milliseconds. */
const reportMs = 60_000
const renewalMs = 30_000
/** The shortest time after a write before the report is written again because more is confirmed, in milliseconds. */
const confirmMs = 40
/** The shortest time between two looks at all leases, in ms. A request then costs the same with any number. */
const lookMs = 10
/** The delay before a failed write is retried, in milliseconds. */
const retryMs = 250
/** The largest number of leases of ended streams that are kept individually. Further ones are merged. */
const maxOrphans = 1_000

/**
 * Creates the hub that sends changes to the clients of a tenant and grants them leases. It has two invariants. Before a
 * lease is granted, everything that was committed when its request arrived is in the same stream. While a lease may be
 * used, the report of this process exists, its `leaseMs` is that of the longest lease, and its `confirmed` is not
 * higher than what all clients with a lease know.
 *
 * | of        | state     | ends when                                                               | next      |
 * | --------- | --------- | ----------------------------------------------------------------------- | --------- |
 * | a request | received  | a read that began later has delivered its changes                       | covered   |
 * |           | covered   | the written report has its `leaseMs` and outlasts the lease             | answered  |
 * |           | any       | the client sends another request for a lease                            | received  |
 * | a lease   | none      | a request is answered                                                   | held      |
 * |           | held      | its time is over, or the client is done (not when its stream ends)      | none      |
 * | a client  | behind    | it confirms `lastChange`, or gets a lease when its last one has ended   | current   |
 * |           | current   | a read finds keys for it                                                | behind    |
 * | the report| none      | a covered request needs it                                              | writing   |
 * |           | writing   | the write succeeds, or fails                                            | written, uncertain |
 * |           | written   | half of its time is over, a request needs more, or more is confirmed    | writing   |
 * |           | uncertain | `retryMs` later; until then the shorter one of two leases is certain    | writing   |
 * | the hub   | active    | there is no stream, no lease, and no write                              | stopped   |
 */
export function cacheHub({ follow, write: writeReport, now, elapsed, after, onFailure, onIdle }: HubOptions): Hub {
  const streams = new Set<ClientStream>()
  /** The leases of all streams, and those of ended streams until they expire. */
  const leases = new Set<Lease>()
  /** The sequence up to which changes have been delivered to the streams. No call waits for a higher one before the tenant's next event. */
  let delivered = 0n
  /** The written report as far as this process knows it, and when it expires, by `elapsed`. */
  let written = { leaseMs: 0, confirmed: -1n, until: Number.NEGATIVE_INFINITY }
  let writing = false
  let writtenAt = Number.NEGATIVE_INFINITY
  let failed = false
  let unfollow: (() => void) | undefined
  let cancelTimer: (() => void) | undefined
  let lookedAt = Number.NEGATIVE_INFINITY
  let cancelLook: (() => void) | undefined
  let stopped = false

  /** Returns the content that the report has to have. */
  function report(at: number): CacheReport {
    let [leaseMs, confirmed] = [0, delivered]
    for (const lease of leases) {
      const isValid = lease.until >= at
      if (!isValid && lease.isOrphan) {
        leases.delete(lease)
        continue
      }
      leaseMs = Math.max(leaseMs, lease.ms)
      if (isValid && lease.confirmed < confirmed) confirmed = lease.confirmed
    }
    return { leaseMs, confirmed }
  }

  function onChanges({ asOf, sequence, keys, isOfAll, isReset }: Changes): void {
    if (isReset) {
      // Cached sessions may have changed without a notification to their clients.
      delivered = sequence
      written.confirmed = -1n
      for (const { client } of [...streams]) client.fail(new Failure("CONFLICT", { message: "changes were missed" }))
      return
    }
    if (sequence > delivered) delivered = sequence
    for (const stream of streams) stream.add({ keys, isOfAll }, delivered, asOf)
    answer()
  }

  /** Answers the requests that may be answered. If the report has to be written before, starts the write. */
  function answer(): void {
    const at = now()
    const writtenMs = written.until - elapsed()
    let mustWrite = false
    for (const stream of streams) {
      const { request, lease } = stream
      if (request?.isCovered !== true) continue
      const until = request.receivedAt + longest(lease.ms)
      if (written.leaseMs < lease.ms || writtenMs < until - at) {
        mustWrite = true
        continue
      }
      stream.grant(until, delivered, at)
    }
    if (mustWrite && !failed) void write()
    else schedule()
  }

  async function write(): Promise<void> {
    if (writing || stopped) return
    writing = true
    const [at, begun] = [now(), elapsed()]
    writtenAt = at
    const { leaseMs, confirmed } = report(at)
    // From now on the database may have the old or the new report, so only the shorter lease is certain.
    written.leaseMs = Math.min(written.leaseMs, leaseMs)
    try {
      await writeReport({ leaseMs, confirmed }, longest(reportMs))
      written = { leaseMs, confirmed, until: begun + reportMs }
      failed = false
    } catch (error) {
      failed = true
      onFailure?.(error)
    }
    writing = false
    if (failed) schedule()
    else answer()
  }

  /** Schedules the next write of the report. A report that is no longer needed expires. */
  function schedule(): void {
    if (stopped || writing) return
    const at = now()
    const { leaseMs, confirmed } = report(at)
    cancelTimer?.()
    cancelTimer = undefined
    if (leaseMs === 0) {
      if (streams.size > 0) return
      stop()
      onIdle?.()
      return
    }
    const confirms = confirmed > written.confirmed
    const validMs = written.until - renewalMs - elapsed()
    const isDue = confirms || leaseMs > written.leaseMs || validMs < 0
    // At least 1, because a timer that ends just before the moment would be set again without end.
    let nextMs = Math.max(1, validMs)
    if (isDue) nextMs = Math.max(0, writtenAt + (failed ? retryMs : confirmMs) - at)
    // When the lease of a client that does not confirm expires, `confirmed` can advance.
    else if (confirmed < delivered || streams.size === 0) nextMs = Math.min(nextMs, retryMs)
    cancelTimer = after(nextMs, () => {
      cancelTimer = undefined
      failed = false
      if (isDue) void write()
      else schedule()
    })
  }

  /** Schedules the next write, at once or soon. */
  function scheduleSoon(): void {
    if (cancelLook !== undefined) return
    const look = () => {
      cancelLook = undefined
      lookedAt = now()
      schedule()
    }
    const waitMs = lookedAt + lookMs - now()
    if (waitMs > 0) cancelLook = after(waitMs, look)
    else look()
  }

  function stop(): void {
    stopped = true
    cancelTimer?.()
    cancelLook?.()
    unfollow?.()
    unfollow = undefined
  }

  function end(stream: ClientStream): void {
    if (!streams.delete(stream)) return
    if (stream.lease.until >= now()) keepOrphan(stream.lease)
    else leases.delete(stream.lease)
    if (streams.size === 0) {
      unfollow?.()
      unfollow = undefined
      schedule()
    } else scheduleSoon()
  }

  function keepOrphan(lease: Lease): void {
    lease.isOrphan = true
    if (leases.size - streams.size <= maxOrphans) return
    leases.delete(lease)
    for (const other of leases) {
      if (!other.isOrphan) continue
      other.ms = Math.max(other.ms, lease.ms)
      other.until = Math.max(other.until, lease.until)
      if (lease.confirmed < other.confirmed) other.confirmed = lease.confirmed
      return
    }
  }

  return {
    open(client) {
      const stream = new ClientStream(client, delivered)
      streams.add(stream)
      leases.add(stream.lease)
      unfollow ??= follow(onChanges)
      return {
        receive(request) {
          if (!streams.has(stream)) return
          if (stream.receive(request, delivered, now())) scheduleSoon()
        },
        take: () => stream.take(delivered),
        end: () => end(stream),
      }
    },
    get load() {
      const at = now()
      let valid = 0
      for (const { until } of leases) if (until >= at) valid++
      return { streams: streams.size, leases: valid }
    },
    stop,
  }
}
