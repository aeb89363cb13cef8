import { StoreError } from "../errors/store-error.js"
import type { EventStore } from "../store/store.js"
import type { EventHead, StoredEvent } from "../store/types.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { restMs } from "../util/rest.js"
import type { FeedPosition, FeedSubscriber, Subscription } from "./subscription.js"

export interface TenantFeedOptions {
  tenant: string
  events: Pick<EventStore, "sequence" | "read" | "history">
  /** Ends the reading. */
  signal: AbortSignal
  now: () => number
  /** Runs a statement that is not shared with the feeds of other tenants, in its turn. */
  turn: <T>(work: () => Promise<T>) => Promise<T>
  /** Waits for the next poll, which the feeds of all tenants begin together. */
  nextPoll: () => Promise<void>
  /** Called with the events of a read. */
  onRead: (events: readonly [StoredEvent, ...StoredEvent[]]) => void
  /** Called after each poll, with its error. */
  onPoll: (error?: unknown) => void
}

/** The feed of one tenant. It polls while it has subscribers. */
export interface TenantFeed {
  subscribe(subscriber: FeedSubscriber): Subscription
  /** See EventFeed.flush. */
  flush(): Promise<number>
  /** Resolves when it no longer polls. */
  ended(): Promise<void>
}

/** The largest number of events that one statement reads. */
const eventsAtOnce = 1000

/** The shortest pause, as a multiple of the last read's duration, so that calls have the database most of the time. */
const pauseFactor = 2

/** The longest pause because reads take long, or because the database fails, in milliseconds. */
const maxPauseMs = 1000

/** The time without a read after which unread events may have been deleted, in milliseconds. */
const staleMs = 30_000

export function tenantFeed(options: TenantFeedOptions): TenantFeed {
  const { tenant, events, signal, now, turn, nextPoll, onRead, onPoll } = options
  const caller = { tenant, signal }
  /** A machine that was suspended has missed reads. */
  const elapsed = elapsedTime()
  const subscribers = new Set<FeedSubscriber>()
  let history: string | undefined
  /** Undefined until the first read for a subscriber, and again when there are none. */
  let position: FeedPosition | undefined
  /** When the last successful read began, by `elapsed`. */
  let readAt = Number.NEGATIVE_INFINITY
  /** The first position of the subscribers that came before it. */
  let start = Promise.withResolvers<FeedPosition>()
  let running: Promise<void> | undefined

  const deliver = (found: readonly StoredEvent[], at: FeedPosition) => {
    position = at
    for (const subscriber of subscribers) subscriber.onEvents(found, at)
  }

  const reset = (sequence: number, asOf: number) => {
    position = { sequence, asOf }
    for (const subscriber of subscribers) subscriber.onReset(position)
  }

  /** Returns whether all events after the position still exist, in the same database. */
  async function isContinuous({ sequence }: FeedPosition, head: EventHead, time: number): Promise<boolean> {
    if (head.history !== history || head.last < sequence) return false
    return time - readAt < staleMs || (await events.history(caller)).before <= sequence
  }

  async function follow(head: EventHead, asOf: number, time: number): Promise<void> {
    const { last } = head
    if (subscribers.size === 0) return
    if (position === undefined) {
      history = head.history
      const at = { sequence: last, asOf }
      deliver([], at)
      start.resolve(at)
      start = Promise.withResolvers()
      return
    }
    if (!(await isContinuous(position, head, time))) {
      history = head.history
      reset(last, asOf)
      return
    }
    while (position !== undefined) {
      const from: FeedPosition = position
      const after = from.sequence
      const found = after < last ? await turn(() => events.read(caller, { after, limit: eventsAtOnce })) : []
      // Meanwhile all subscribers have left, and new ones have come.
      if (position !== from) continue
      const [first, ...others] = found
      if (first !== undefined) onRead([first, ...others])
      const lastFound = found.at(-1)?.sequence ?? after
      if (found.length < eventsAtOnce) {
        // Subscribers that came after the start of this read may have set a later position.
        deliver(found, { sequence: Math.max(last, lastFound), asOf: Math.max(asOf, from.asOf) })
        return
      }
      // More events follow, so `asOf` must stay: not everything that is committed by now has been delivered.
      deliver(found, { sequence: lastFound, asOf: from.asOf })
    }
  }

  const read = oneAtATime(async () => {
    const [time, asOf] = [elapsed(), now()]
    const head = await events.sequence(caller)
    await follow(head, asOf, time)
    readAt = time
    return head.last
  })

  async function run(): Promise<void> {
    let failures = 0
    while (subscribers.size > 0 && !signal.aborted) {
      const begun = now()
      try {
        await read()
        failures = 0
        onPoll()
      } catch (error) {
        if (signal.aborted) break
        failures++
        // The tenant was deleted with its events.
        if (error instanceof StoreError && error.reason === "TENANT_NOT_FOUND") reset(0, begun)
        else onPoll(error)
      }
      const failedMs = failures === 0 ? 0 : Math.min(maxPauseMs, 5 * 2 ** failures)
      const until = now() + Math.max(failedMs, restMs(begun, pauseFactor, maxPauseMs))
      do await nextPoll()
      while (now() < until && !signal.aborted)
    }
    running = undefined
    onPoll()
  }

  return {
    subscribe(subscriber) {
      subscribers.add(subscriber)
      // The loop may be in a pause. It tries again if this fails.
      if (position === undefined && running !== undefined) read().catch(() => {})
      running ??= run()
      return {
        start: position === undefined ? start.promise : Promise.resolve(position),
        end() {
          if (subscribers.delete(subscriber) && subscribers.size === 0) position = history = undefined
        },
      }
    },

    flush: read,

    ended: async () => running,
  }
}
