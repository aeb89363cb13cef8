import { Failure } from "../errors/failure.js"
import type { Look, TenantFeed } from "./feed.js"

/** See FollowRequest. */
export interface Ping {
  maxStaleMs: number
  nonce: bigint
  confirmed: bigint
  done: boolean
}

/** See FollowResponse. */
export interface News {
  keys: string[]
  reset: boolean
  sequence: bigint
  nonce: bigint
}

/** The report of a process on its clients of a tenant, for all processes; see CacheStore. */
export interface Said {
  leaseMs: number
  confirmed: bigint
  ms: number
}

export interface OwnRow {
  /**
   * Writes that clients of this process may use their caches, for `ms` milliseconds from now at most. Each lease lasts
   * `leaseMs` at most before it has to be renewed, and all clients know everything up to `confirmed`. Of two calls the
   * later one wins, in whatever order the database executes them. Rejects if the row may not have been written.
   */
  keep(row: Said): Promise<void>
}

export interface HubOptions {
  feed: TenantFeed
  row: OwnRow
  /** A clock for durations, in milliseconds, that also advances while the machine is suspended. */
  now: () => number
  /** Calls `call` after `ms` milliseconds, unless the returned function is called before. */
  after: (ms: number, call: () => void) => () => void
  /** Called when the row could not be written. */
  onFailure?: (error: unknown) => void
  /** Called once when the hub has stopped. It then has no stream and no lease any more, and writes nothing. */
  onIdle?: () => void
}

/** The stream of one client. */
export interface HubStream {
  /** Handles a request of the client. Throws INVALID_FIELD. */
  receive(ping: Ping): void
  /** Returns the pending news for the client and removes them; undefined if there are none. */
  take(): News | undefined
  /** Ends the stream. Its lease still counts, unless the client has said that it no longer uses its cache. */
  end(): void
}

/** The callbacks of a stream. */
export interface HubClient {
  /** Called when there is something to take. */
  ready(): void
  /** Called when the stream has failed and has to be opened again. */
  fail(failure: Failure): void
}

export interface Hub {
  open(client: HubClient): HubStream
  /** The number of open streams, and of valid leases, including those of streams that were cut. */
  readonly load: { streams: number; leases: number }
  /** Stops writing the row. */
  stop(): void
}

/** The right of a client to use its cache until a time, and the sequence up to which the client knows everything. */
interface Lease {
  ms: number
  until: number
  knows: bigint
}

interface Stream extends HubClient {
  /** The unanswered ping, and when it arrived: `at` by the clock for durations, `cameAt` by the clock of the feed. */
  ping: { nonce: bigint; at: number; cameAt: number; isLooked: boolean } | undefined
  /** The news that wait to be taken. */
  keys: Set<string>
  reset: boolean
  answers: bigint
  /** The sequence that the client has to confirm to know all its news. */
  newsAt: bigint
  /** Whether the client has confirmed `newsAt`. */
  knowsAll: boolean
  lease: Lease
}

/** How long the row is valid, and how long before its expiry it is written again, in milliseconds. */
const rowMs = 60_000
const renewalMs = 30_000
/** The shortest time after a write before the row is written again because more is confirmed, in milliseconds. */
const confirmMs = 40
/** The delay before a failed write is retried, in milliseconds. */
const retryMs = 250
/** The largest number of pending keys of a client. With more, the client is told to clear its cache. */
const mostKeys = 4_096
/** The largest number of leases of cut streams that are kept individually. Further ones are merged. */
const mostCut = 1_000

export const minStaleMs = 200

/**
 * Returns how long a lease may last by the clock of another machine, in milliseconds. The clocks of two machines may
 * differ in speed by a fiftieth, and in resolution by 20 ms.
 */
export function longest(ms: number): number {
  return ms * 1.02 + 20
}

/**
 * Creates the hub that sends changes to the clients of a tenant and grants them leases. It has two invariants. Before a
 * lease is granted, everything that was committed when its ping arrived is in the same stream. While a lease may be
 * used, the row of this process exists, its `leaseMs` is that of the longest lease, and its `confirmed` is not higher
 * than what all clients with a lease know.
 */
export function cacheHub({ feed, row, now, after, onFailure, onIdle }: HubOptions): Hub {
  const streams = new Set<Stream>()
  /** The leases of cut streams, whose clients may not know the latest changes. */
  let cut: Lease[] = []
  let told = 0n
  /** The `confirmed` that the row has to reach. No call waits for a higher one before the tenant's next event. */
  let newsAt = 0n
  /** Whether looks were missed before the next one. They may have found changes. */
  let isBehind = true
  /** The content of the row as far as this process knows it, and when the row expires. */
  let said = { leaseMs: 0, confirmed: -1n, until: Number.NEGATIVE_INFINITY }
  let writing = false
  let writtenAt = Number.NEGATIVE_INFINITY
  let failed = false
  let unfollow: (() => void) | undefined
  let cancelTimer: (() => void) | undefined
  let stopped = false

  /** Returns the content that the row has to have. */
  function state(at: number): { leaseMs: number; confirmed: bigint } {
    let [leaseMs, confirmed] = [0, told]
    const count = (lease: Lease) => {
      leaseMs = Math.max(leaseMs, lease.ms)
      if (lease.until >= at && lease.knows < confirmed) confirmed = lease.knows
    }
    for (const { lease } of streams) count(lease)
    cut = cut.filter(({ until }) => until >= at)
    for (const lease of cut) count(lease)
    return { leaseMs, confirmed }
  }

  function onLook(look: Look): void {
    if (look.isBroken) {
      // Cached sessions may have changed without a notification to their clients.
      told = newsAt = look.sequence
      said = { ...said, confirmed: -1n }
      for (const stream of [...streams]) stream.fail(new Failure("CONFLICT", { message: "changes were missed" }))
      return
    }
    if (look.sequence > told) told = look.sequence
    if (look.isNews || isBehind) newsAt = told
    isBehind = false
    for (const stream of streams) {
      if (look.keys.length > 0) addNews(stream, look.keys)
      // This look has no keys, so a client that knows all its news knows everything in it too.
      else if (stream.knowsAll) stream.lease.knows = told
      const { ping } = stream
      if (ping !== undefined && ping.cameAt < look.began) ping.isLooked = true
    }
    answer()
  }

  function addNews(stream: Stream, keys: readonly string[]): void {
    stream.newsAt = told
    stream.knowsAll = false
    for (const key of keys) stream.keys.add(key)
    if (stream.keys.size > mostKeys) {
      stream.reset = true
      stream.keys.clear()
    }
    stream.ready()
  }

  /** Answers the pings that may be answered. If the row has to be written before, starts the write. */
  function answer(): void {
    const at = now()
    let mustWrite = false
    for (const stream of streams) {
      const { ping, lease } = stream
      if (ping?.isLooked !== true) continue
      const until = ping.at + longest(lease.ms)
      if (said.leaseMs < lease.ms || said.until < until) {
        mustWrite = true
        continue
      }
      // A client whose lease has expired uses nothing before it has followed this answer and everything before it.
      if (lease.until < at) {
        lease.knows = told
        stream.knowsAll = true
      }
      lease.until = Math.max(lease.until, until)
      stream.answers = ping.nonce
      stream.ping = undefined
      stream.ready()
    }
    if (mustWrite && !failed) void write()
    else schedule()
  }

  async function write(): Promise<void> {
    if (writing || stopped) return
    writing = true
    const at = now()
    writtenAt = at
    const { leaseMs, confirmed } = state(at)
    // From now on the database may have the old or the new row, so only the shorter lease is certain.
    said = { ...said, leaseMs: Math.min(said.leaseMs, leaseMs) }
    try {
      await row.keep({ leaseMs, confirmed, ms: longest(rowMs) })
      said = { leaseMs, confirmed, until: at + rowMs }
      failed = false
    } catch (error) {
      failed = true
      onFailure?.(error)
    }
    writing = false
    if (failed) schedule()
    else answer()
  }

  /** Schedules the next write of the row. A row that is no longer needed expires. */
  function schedule(): void {
    if (stopped || writing) return
    const at = now()
    const { leaseMs, confirmed } = state(at)
    cancelTimer?.()
    cancelTimer = undefined
    if (leaseMs === 0) {
      if (streams.size === 0) idle()
      return
    }
    const confirms = confirmed > said.confirmed && said.confirmed < newsAt
    const isLate = confirms || leaseMs > said.leaseMs || at > said.until - renewalMs
    const soonest = writtenAt + (failed ? retryMs : confirmMs)
    let nextMs = said.until - renewalMs - at
    if (isLate) nextMs = Math.max(0, soonest - at)
    // When the lease of a client that does not confirm expires, `confirmed` can advance.
    else if (confirmed < told || streams.size === 0) nextMs = Math.min(nextMs, retryMs)
    cancelTimer = after(nextMs, () => {
      cancelTimer = undefined
      failed = false
      if (isLate) void write()
      else schedule()
    })
  }

  function stop(): void {
    stopped = true
    cancelTimer?.()
    unfollow?.()
    unfollow = undefined
  }

  function idle(): void {
    stop()
    onIdle?.()
  }

  return {
    open(client) {
      const stream: Stream = {
        ...client,
        ping: undefined,
        keys: new Set(),
        reset: false,
        answers: 0n,
        newsAt: told,
        knowsAll: false,
        lease: { ms: 0, until: Number.NEGATIVE_INFINITY, knows: told },
      }
      const { lease } = stream
      streams.add(stream)
      if (unfollow === undefined) {
        isBehind = true
        unfollow = feed.follow(onLook)
      }
      return {
        receive({ maxStaleMs, nonce, confirmed, done }) {
          if (lease.ms === 0 && maxStaleMs < minStaleMs)
            throw broken("max_stale_ms", `must be at least ${minStaleMs} in the first request`)
          if (lease.ms !== 0 && maxStaleMs !== 0 && maxStaleMs !== lease.ms)
            throw broken("max_stale_ms", "must be the value of the first request, or absent")
          if (confirmed > told) throw broken("confirmed", "must be a sequence that the service has sent")
          if (lease.ms === 0) lease.ms = maxStaleMs
          if (done) lease.until = Number.NEGATIVE_INFINITY
          if (confirmed >= stream.newsAt && confirmed > 0n) stream.knowsAll = true
          const knows = stream.knowsAll ? told : confirmed
          if (knows > lease.knows) lease.knows = knows
          // Replaces a pending ping, because the lease of that one would have begun earlier.
          if (nonce !== 0n && !done) stream.ping = { nonce, at: now(), cameAt: feed.now(), isLooked: false }
          schedule()
        },
        take() {
          const { keys, reset, answers } = stream
          if (keys.size === 0 && !reset && answers === 0n) return undefined
          stream.keys = new Set()
          stream.reset = false
          stream.answers = 0n
          return { keys: [...keys], reset, sequence: told, nonce: answers }
        },
        end() {
          if (!streams.delete(stream)) return
          if (lease.until >= now()) keepCut(lease)
          if (streams.size === 0) {
            unfollow?.()
            unfollow = undefined
          }
          schedule()
        },
      }
    },
    get load() {
      const at = now()
      let leases = cut.filter(({ until }) => until >= at).length
      for (const { lease } of streams) if (lease.until >= at) leases++
      return { streams: streams.size, leases }
    },
    stop,
  }

  function keepCut({ ms, until, knows }: Lease): void {
    const last = cut.length < mostCut ? undefined : cut.pop()
    if (last === undefined) cut.push({ ms, until, knows })
    else
      cut.push({
        ms: Math.max(ms, last.ms),
        until: Math.max(until, last.until),
        knows: knows < last.knows ? knows : last.knows,
      })
  }
}

function broken(field: string, description: string): Failure {
  return new Failure("INVALID_FIELD", { violations: [{ field, description }] })
}
