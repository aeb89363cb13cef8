import { Failure } from "../rpc/errors.js"
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

/** What a process says of its clients of a tenant, to all processes: see CacheStore. */
export interface Said {
  leaseMs: number
  confirmed: bigint
  ms: number
}

export interface OwnRow {
  /**
   * Says that clients of this process may use what they keep, until `ms` milliseconds from now at the most: each for `leaseMs`
   * at the most before it asks again, and all know everything up to `confirmed`. Of two calls the later one counts, whenever
   * the database gets to them. Rejects where it may not have been written.
   */
  keep(row: Said): Promise<void>
}

export interface HubOptions {
  feed: TenantFeed
  row: OwnRow
  /** A clock for durations, in milliseconds, that does not stand still with the machine. */
  now: () => number
  /** Calls later, unless the function that it returns is called before. */
  after: (ms: number, call: () => void) => () => void
  /** Hears that the row could not be written. */
  onFailure?: (error: unknown) => void
  /** Hears, once, that the hub has stopped: it has no stream and no lease any more, and writes nothing. */
  onIdle?: () => void
}

/** One client's stream. */
export interface HubStream {
  /** The client has said something. Throws INVALID_FIELD. */
  receive(ping: Ping): void
  /** What the client is to be told, if there is something; then it is told. */
  take(): News | undefined
  /** The stream is over. Unless its client has said that it uses nothing any more, its lease still counts. */
  end(): void
}

/** Who is behind a stream. */
export interface HubClient {
  /** There is something to take. */
  ready(): void
  /** The stream is over, and has to be made again. */
  fail(failure: Failure): void
}

export interface Hub {
  open(client: HubClient): HubStream
  /** Clients that follow, and of them those that may use what they keep. */
  readonly load: { streams: number; leases: number }
  /** Ends the writing of the row. */
  stop(): void
}

/** A client that may use what it keeps until a moment, and knows everything up to a sequence. */
interface Lease {
  ms: number
  until: number
  knows: bigint
}

interface Stream extends HubClient {
  /** The ping that is not answered, and when it came: by the clock for durations, and by that of the feed. */
  ping: { nonce: bigint; at: number; cameAt: number; isLooked: boolean } | undefined
  /** What waits to be taken. */
  keys: Set<string>
  reset: boolean
  answers: bigint
  /** How far the client has to have followed to know of all news. */
  newsAt: bigint
  /** Whether it has. */
  knowsAll: boolean
  lease: Lease
}

/** How long the row is there at a time, and how long before its end it is written again, in milliseconds. */
const rowMs = 60_000
const renewalMs = 30_000
/** How soon after the last time the row is written again because more is confirmed, in milliseconds. */
const confirmMs = 40
/** How soon it is tried again when it could not be written, in milliseconds. */
const retryMs = 250
/** With more keys that a client has not taken it is told to forget everything. */
const mostKeys = 4_096
/** Leases of streams that were cut are counted one by one up to so many. */
const mostCut = 1_000

export const minStaleMs = 200

/**
 * How long a lease may last by another clock, in milliseconds: the clocks of two machines may run apart by a fiftieth, and
 * tell the time no more finely than this.
 */
export function longest(ms: number): number {
  return ms * 1.02 + 20
}

/**
 * Tells the clients of a tenant what changes, and grants them leases. What it is bound to: before a lease is granted,
 * everything that was committed when its ping came stands in the same stream; and while a lease may be used, the row of this
 * process is there, its `leaseMs` is that of the longest, and its `confirmed` no more than what all who have one know.
 */
export function cacheHub({ feed, row, now, after, onFailure, onIdle }: HubOptions): Hub {
  const streams = new Set<Stream>()
  /** Of streams that were cut: their clients may not know yet. */
  let cut: Lease[] = []
  let told = 0n
  /** How far the row has to get: nobody waits for more, unless something happens in the tenant. */
  let newsAt = 0n
  /** Whether looks were not heard before the next one, which may have found something. */
  let isBehind = true
  /** What the row says, as far as this process can tell, and until when. */
  let said = { leaseMs: 0, confirmed: -1n, until: Number.NEGATIVE_INFINITY }
  let writing = false
  let writtenAt = Number.NEGATIVE_INFINITY
  let failed = false
  let unfollow: (() => void) | undefined
  let cancelTimer: (() => void) | undefined
  let stopped = false

  /** What the row has to say. */
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

  function hear(look: Look): void {
    if (look.isBroken) {
      // What they keep may have changed without anybody having been told.
      told = newsAt = look.sequence
      said = { ...said, confirmed: -1n }
      for (const stream of [...streams]) stream.fail(new Failure("CONFLICT", { message: "changes were missed" }))
      return
    }
    if (look.sequence > told) told = look.sequence
    if (look.isNews || isBehind) newsAt = told
    isBehind = false
    for (const stream of streams) {
      if (look.keys.length > 0) tell(stream, look.keys)
      // Who has heard all that concerns him knows of the rest that it does not.
      else if (stream.knowsAll) stream.lease.knows = told
      const { ping } = stream
      if (ping !== undefined && ping.cameAt < look.began) ping.isLooked = true
    }
    answer()
  }

  function tell(stream: Stream, keys: readonly string[]): void {
    stream.newsAt = told
    stream.knowsAll = false
    for (const key of keys) stream.keys.add(key)
    if (stream.keys.size > mostKeys) {
      stream.reset = true
      stream.keys.clear()
    }
    stream.ready()
  }

  /** Answers the pings that may be answered; where the row has to be written before, has it written. */
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
      // A client whose lease has run out uses nothing before it has followed this answer, and all that stands before it.
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
    // From now on the one may be there or the other: what holds is the shorter lease.
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

  /** Sees to it that the row is written in time. A row that nobody needs runs out. */
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
    // A lease of who does not confirm ends, and then more is confirmed.
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
        unfollow = feed.follow(hear)
      }
      return {
        receive({ maxStaleMs, nonce, confirmed, done }) {
          if (lease.ms === 0 && maxStaleMs < minStaleMs)
            throw broken("max_stale_ms", `must be at least ${minStaleMs} in the first request`)
          if (lease.ms !== 0 && maxStaleMs !== 0 && maxStaleMs !== lease.ms)
            throw broken("max_stale_ms", "must be that of the first request, or absent")
          if (confirmed > told) throw broken("confirmed", "must be a sequence that was told")
          if (lease.ms === 0) lease.ms = maxStaleMs
          if (done) lease.until = Number.NEGATIVE_INFINITY
          if (confirmed >= stream.newsAt && confirmed > 0n) stream.knowsAll = true
          const knows = stream.knowsAll ? told : confirmed
          if (knows > lease.knows) lease.knows = knows
          // One that waits is given up: its lease would have begun before.
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
