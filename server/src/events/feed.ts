import { setTimeout as delay } from "node:timers/promises"
import type { EventStore } from "../store/store.js"
import type { EventKind, StoredEvent } from "../store/types.js"
import { oneAtATime } from "../util/one-at-a-time.js"

/** Up to where events have been told. */
export interface FeedPosition {
  /** All events with this sequence or a lower one have been told. */
  readonly sequence: number
  /**
   * A moment of `performance.now()` of this process: whatever was committed before it, by whichever process, has a sequence
   * that is not higher.
   */
  readonly asOf: number
}

/** Who wants to hear of events. What it is told it must take at once: it is called between two reads of the database. */
export interface FeedSubscriber {
  /** Only events of this tenant. Default: of all. */
  readonly tenant?: string | undefined
  /** Only events of these kinds. Default: of all. */
  readonly kinds?: ReadonlySet<EventKind> | undefined
  /**
   * Called after each read of the database, some 20 times a second: also when there is nothing new. That is a checkpoint, of
   * which the position tells how far it goes.
   *
   * @param events those that are wanted and have not been told before, in their order.
   */
  onEvents(events: readonly StoredEvent[], position: FeedPosition): void
  /** Some events were not told, and will not be: they are cleaned away, or the database is another one. It goes on from here. */
  onReset(position: FeedPosition): void
}

export interface Subscription {
  /** The events that follow this position are told. */
  readonly start: FeedPosition
  /** Nothing is told any more. May be called more than once. */
  end(): void
}

/** Hears what a feed does. */
export interface FeedObserver {
  /** How many subscribers there are. */
  subscribers(count: number): void
  /** Events were read. `lagMs` is the time since the first of them was written, by the clocks of two processes. */
  read(count: number, lagMs: number): void
}

/**
 * Reads the events of the database once for all who want them in this process: those of all tenants, in their order, each
 * exactly once. It reads on while anybody subscribes.
 */
export interface EventFeed {
  /** Throws what the store throws. */
  subscribe(subscriber: FeedSubscriber): Promise<Subscription>
  /**
   * Reads now. Everything that was committed before the call, by whichever process, has been told then, and has the sequence
   * that it resolves to or a lower one. Throws what the store throws.
   */
  flush(): Promise<number>
  /** Ends the reading. Never throws. */
  stop(): Promise<void>
}

export interface EventFeedOptions {
  events: Pick<EventStore, "sequence" | "read" | "history">
  /** Called when the events cannot be read, once until they can be again. */
  onFailure?: ((error: unknown) => void) | undefined
  observer?: FeedObserver | undefined
  /** How long it rests between two reads, in milliseconds. Default 50. */
  pollMs?: number | undefined
}

/** How many events one statement reads. */
const eventsAtOnce = 1000

/** How many times as long as a read took it rests at least: calls have the database for most of the time. */
const restFactor = 2

/** The longest rest while the database fails, in milliseconds. */
const maxRestMs = 1000

/** What has not been read for so long, in milliseconds, may have been cleaned away. */
const staleMs = 30_000

export function eventFeed(options: EventFeedOptions): EventFeed {
  const { events, observer, onFailure, pollMs = 50 } = options
  const subscribers = new Set<FeedSubscriber>()
  const stopping = new AbortController()
  const { signal } = stopping
  let history: string | undefined
  /** Undefined while nobody subscribes. */
  let position: FeedPosition | undefined
  let running: Promise<void> | undefined

  const tell = (found: readonly StoredEvent[], at: FeedPosition) => {
    position = at
    for (const subscriber of subscribers) {
      const { tenant, kinds } = subscriber
      const wanted =
        tenant === undefined && kinds === undefined
          ? found
          : found.filter((one) => (tenant === undefined || one.tenant === tenant) && (kinds?.has(one.kind) ?? true))
      subscriber.onEvents(wanted, at)
    }
  }

  const reset = (at: FeedPosition) => {
    position = at
    for (const subscriber of subscribers) subscriber.onReset(at)
  }

  /** Whether nothing has been cleaned away, and nothing replaced, that follows the position. */
  async function goesOn({ sequence, asOf }: FeedPosition, last: number, now: number): Promise<boolean> {
    if (last < sequence) return false
    if (now - asOf < staleMs) return true
    const { id, before } = await events.history({ signal })
    const isSame = id === history
    history = id
    return isSame && before <= sequence
  }

  async function readOnce(): Promise<number> {
    const asOf = performance.now()
    const last = await events.sequence({ signal })
    if (position === undefined) return last
    if (!(await goesOn(position, last, asOf))) {
      reset({ sequence: last, asOf })
      return last
    }
    while (position !== undefined) {
      const from: FeedPosition = position
      const after = from.sequence
      const found = after < last ? await events.read({ signal }, { after, limit: eventsAtOnce }) : []
      // All have gone meanwhile, and others have come.
      if (position !== from) continue
      const [first, lastFound] = [found[0], found.at(-1)]
      if (first !== undefined) observer?.read(found.length, Math.max(0, Date.now() - first.created.getTime()))
      if (found.length < eventsAtOnce) {
        // Who has come since this read began may have begun further on.
        const sequence = Math.max(after, last, lastFound?.sequence ?? 0)
        tell(found, { sequence, asOf: Math.max(asOf, from.asOf) })
        return last
      }
      // More follow: that all is told that was committed by now cannot be said yet.
      tell(found, { sequence: lastFound?.sequence ?? after, asOf: from.asOf })
    }
    return last
  }

  const read = oneAtATime(readOnce)

  async function run(): Promise<void> {
    let failures = 0
    while (!signal.aborted && subscribers.size > 0) {
      const begun = performance.now()
      try {
        await read()
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures++
        if (failures === 1) onFailure?.(error)
      }
      const tookMs = performance.now() - begun
      const usualMs = Math.max(pollMs, tookMs * restFactor)
      const restMs = failures === 0 ? usualMs : Math.max(usualMs, Math.min(maxRestMs, pollMs * 2 ** failures))
      await delay(restMs, undefined, { signal, ref: false }).catch(() => {})
    }
    running = undefined
  }

  return {
    async subscribe(subscriber) {
      if (position === undefined) {
        const asOf = performance.now()
        const last = await events.sequence({ signal })
        const { id } = await events.history({ signal })
        // Somebody else may have come meanwhile.
        history ??= id
        position ??= { sequence: last, asOf }
      }
      const start = position
      subscribers.add(subscriber)
      observer?.subscribers(subscribers.size)
      running ??= run()
      return {
        start,
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
      await running
    },
  }
}
