import type { EventStore } from "../store/store.js"
import type { StoredEvent } from "../store/types.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { restMs } from "../util/rest.js"

/** The position up to which events have been delivered. */
export interface FeedPosition {
  /** All events with this sequence or a lower one have been delivered. */
  readonly sequence: number
  /** A time by the clock of the feed. Everything that any process committed before it has this sequence or a lower one. */
  readonly asOf: number
}

/** A subscriber to events. Its callbacks must return at once, because they run between two reads of the database. */
export interface FeedSubscriber {
  /** The tenant whose events are delivered. */
  readonly tenant: string
  /**
   * Called after each read of the database, about 20 times per second. Without new events the call is a checkpoint,
   * which reports only the position.
   *
   * @param events the new events of the tenant, in their order.
   */
  onEvents(events: readonly StoredEvent[], position: FeedPosition): void
  /** Called when some events will not be delivered, because they are gone. Delivery continues after `position`. */
  onReset(position: FeedPosition): void
}

export interface Subscription {
  /** Settles when the delivery begins. The events after this position are delivered. */
  readonly start: Promise<FeedPosition>
  /** Ends the delivery. May be called more than once. */
  end(): void
}

/** Observes a feed. */
export interface FeedObserver {
  /** Records the current number of subscribers. */
  subscribers(count: number): void
  /** Records a read of events. `lagMs`: the time since the first one was written, by the clock of the feed's options. */
  read(count: number, lagMs: number): void
}

/**
 * Reads the events of the database once for all subscribers in this process: those of all tenants, in their order, each
 * exactly once. Without subscribers it only assigns sequences, less often, so that the first subscriber after a long
 * time does not wait until a large backlog has its sequences.
 */
export interface EventFeed {
  /** The clock of the positions: the monotonic one, in milliseconds. */
  now(): number
  /** Adds a subscriber. While the database fails, the delivery does not begin. */
  subscribe(subscriber: FeedSubscriber): Subscription
  /**
   * Reads now. When it resolves, everything that any process committed before the call has been delivered, and has the
   * returned sequence or a lower one. Throws what the store throws.
   */
  flush(): Promise<number>
  /** Stops reading. Never throws. */
  stop(): Promise<void>
}

export interface EventFeedOptions {
  events: Pick<EventStore, "sequence" | "read" | "history">
  /** Called when the events cannot be read, once until a read succeeds again. */
  onFailure?: ((error: unknown) => void) | undefined
  observer?: FeedObserver | undefined
  /** Returns the time of the database's clock, in milliseconds since 1970, for the observer. Default: Date.now. */
  clock?: () => number
  /** The pause between two reads, in milliseconds. Default: 50. */
  pollMs?: number | undefined
  /** The pause between two assignments of sequences without subscribers, in milliseconds. Default: none then. */
  idleMs?: number | undefined
}

/** The largest number of events that one statement reads. */
const eventsAtOnce = 1000

/** The shortest pause, as a multiple of the last read's duration, so that calls have the database most of the time. */
const pauseFactor = 2

/** The longest pause because reads take long, or because the database fails, in milliseconds. */
const maxPauseMs = 1000

/** The time without a read after which unread events may have been deleted, in milliseconds. */
const staleMs = 30_000

export function eventFeed(options: EventFeedOptions): EventFeed {
  const { events, observer, onFailure, clock = Date.now, pollMs = 50, idleMs } = options
  const now = () => performance.now()
  /** A machine that was suspended has missed reads. */
  const elapsed = elapsedTime()
  const subscribers = new Set<FeedSubscriber>()
  const stopping = new AbortController()
  const { signal } = stopping
  let history: string | undefined
  /** Undefined until the first read for a subscriber, and again when there are none. */
  let position: FeedPosition | undefined
  /** When the last successful read began, by `elapsed`. */
  let readAt = Number.NEGATIVE_INFINITY
  /** The first position of the subscribers that came before it. */
  let start = Promise.withResolvers<FeedPosition>()
  let running: Promise<void> | undefined
  let wake = () => {}

  const deliver = (found: readonly StoredEvent[], at: FeedPosition) => {
    position = at
    const byTenant = Map.groupBy(found, ({ tenant }) => tenant)
    for (const subscriber of subscribers) subscriber.onEvents(byTenant.get(subscriber.tenant) ?? [], at)
  }

  const reset = (at: FeedPosition) => {
    position = at
    for (const subscriber of subscribers) subscriber.onReset(at)
  }

  /** Returns whether all events after the position still exist, in the same database. */
  async function isContinuous({ sequence }: FeedPosition, last: number, time: number): Promise<boolean> {
    if (last < sequence) return false
    if (time - readAt < staleMs) return true
    const { id, before } = await events.history({ signal })
    const isSame = id === history
    history = id
    return isSame && before <= sequence
  }

  /** Begins the delivery to the first subscribers. */
  async function begin(at: FeedPosition): Promise<void> {
    const { id } = await events.history({ signal })
    if (subscribers.size === 0) return
    history = id
    deliver([], at)
    start.resolve(at)
    start = Promise.withResolvers()
  }

  async function readFrom(time: number): Promise<number> {
    const asOf = now()
    const last = await events.sequence({ signal })
    if (position === undefined) {
      if (subscribers.size > 0) await begin({ sequence: last, asOf })
      return last
    }
    if (!(await isContinuous(position, last, time))) {
      reset({ sequence: last, asOf })
      return last
    }
    while (position !== undefined) {
      const from: FeedPosition = position
      const after = from.sequence
      const found = after < last ? await events.read({ signal }, { after, limit: eventsAtOnce }) : []
      // Meanwhile all subscribers have left, and new ones have come.
      if (position !== from) continue
      const [first, lastFound] = [found[0], found.at(-1)]
      if (first !== undefined) observer?.read(found.length, Math.max(0, clock() - first.created.getTime()))
      if (found.length < eventsAtOnce) {
        // Subscribers that came after the start of this read may have set a later position.
        const sequence = Math.max(after, last, lastFound?.sequence ?? 0)
        deliver(found, { sequence, asOf: Math.max(asOf, from.asOf) })
        return last
      }
      // More events follow, so `asOf` must stay: not everything that is committed by now has been delivered.
      deliver(found, { sequence: lastFound?.sequence ?? after, asOf: from.asOf })
    }
    return last
  }

  const read = oneAtATime(async () => {
    const time = elapsed()
    const last = await readFrom(time)
    readAt = time
    return last
  })

  /** Waits. `wake` ends the wait early. */
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref()
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  /** The pause after a read that began at `begun`. */
  function pauseMs(begun: number, failures: number): number {
    // Half of the pause is random, so that the processes of a deployment do not assign sequences at the same time.
    const idlePauseMs = (idleMs ?? 0) * (0.5 + Math.random() / 2)
    const usualMs = subscribers.size > 0 ? Math.max(pollMs, restMs(begun, pauseFactor, maxPauseMs)) : idlePauseMs
    return failures === 0 ? usualMs : Math.max(usualMs, Math.min(maxPauseMs, pollMs * 2 ** failures))
  }

  async function run(): Promise<void> {
    let failures = 0
    if (subscribers.size === 0) await pause(pauseMs(now(), 0))
    while (!signal.aborted && (subscribers.size > 0 || idleMs !== undefined)) {
      const begun = now()
      try {
        await read()
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures++
        if (failures === 1) onFailure?.(error)
      }
      await pause(pauseMs(begun, failures))
    }
    running = undefined
  }

  if (idleMs !== undefined) running = run()

  return {
    now,

    subscribe(subscriber) {
      subscribers.add(subscriber)
      observer?.subscribers(subscribers.size)
      running ??= run()
      // The loop may be in a pause. It tries again if this fails.
      if (position === undefined) {
        read().catch(() => {})
        wake()
      }
      return {
        start: position === undefined ? start.promise : Promise.resolve(position),
        end() {
          if (!subscribers.delete(subscriber)) return
          observer?.subscribers(subscribers.size)
          if (subscribers.size === 0) position = history = undefined
        },
      }
    },

    flush: read,

    async stop() {
      stopping.abort()
      wake()
      await running
    },
  }
}
