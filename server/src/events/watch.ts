import { Failure } from "../errors/failure.js"
import type { Caller, EventStore } from "../store/store.js"
import type { EventKind, EventPosition, StoredEvent } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import type { EventFeed } from "./feed.js"
import type { FeedSubscriber } from "./subscription.js"

export interface WatchOptions {
  /** The position after which events are yielded. Default: events that are committed from now on. */
  start?: EventPosition | undefined
  /** Default: all. */
  kinds?: ReadonlySet<EventKind> | undefined
  /** The time without an event after which a checkpoint is yielded, in milliseconds. Default: 5,000. */
  checkpointMs?: number | undefined
}

/** A position and the event at it. A checkpoint has no event. */
export interface Watched {
  readonly position: EventPosition
  readonly event: StoredEvent | undefined
}

/** The size of a watcher's buffer, in events. A buffer that overflows is discarded, and the table is read instead. */
const maxBuffered = 1000

/** The largest number of events that one read of the table returns. */
const pageSize = 200

const defaultCheckpointMs = 5_000

/**
 * Yields the events of the caller's tenant in their order, without an end, and checkpoints: at first, whenever there was no
 * event for a while, and for a page of the table without a wanted event. It reads the table up to the position of the feed, and takes later events from the
 * feed. Throws CURSOR_EXPIRED when events after the current position have been deleted, and what the store throws.
 */
export async function* watch(
  { events, feed }: { events: Pick<EventStore, "read" | "history">; feed: EventFeed },
  caller: Caller & { readonly signal: AbortSignal },
  { start, kinds, checkpointMs = defaultCheckpointMs }: WatchOptions,
): AsyncGenerator<Watched, void> {
  const { tenant, signal } = caller
  const isWanted = ({ kind }: StoredEvent) => kinds?.has(kind) ?? true
  let buffer: StoredEvent[] = []
  /** Events up to this sequence are not in the buffer, and have to be read from the table. */
  let inTable = 0
  /** Everything that was committed up to this sequence was yielded, is in the buffer, or is in the table. */
  let known = 0
  let isLost = false
  let wake = () => {}
  const subscriber: FeedSubscriber = {
    tenant,
    onEvents(events, { sequence }) {
      const found = events.filter(isWanted)
      known = sequence
      if (buffer.length + found.length > maxBuffered) {
        buffer = []
        inTable = sequence
      } else buffer.push(...found)
      if (found.length > 0) wake()
    },
    onReset() {
      isLost = true
      wake()
    },
  }
  /** Waits for an event, but not longer than until a checkpoint is due. Rejects with the signal's reason. */
  const pause = async () => {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    const timer = setTimeout(() => wake(), checkpointMs)
    try {
      await orAborted(woken, signal)
    } finally {
      clearTimeout(timer)
    }
  }

  const subscription = feed.subscribe(subscriber)
  try {
    const now = await events.history(caller)
    const { sequence: first } = await orAborted(subscription.start, signal)
    inTable = Math.max(inTable, first)
    known = Math.max(known, first)
    if (start !== undefined && (start.history !== now.id || start.sequence > now.last)) throw cursorExpired()
    let after = start?.sequence ?? first
    const at = (sequence: number, event?: StoredEvent): Watched => ({ position: { history: now.id, sequence }, event })
    if (after < now.before) throw cursorExpired()
    yield at(after)
    for (;;) {
      while (after < inTable) {
        const upTo = inTable
        const page = await events.read(caller, { after, limit: pageSize })
        // Read after the page, so that it includes every deletion that happened before the page was read.
        const { id, before } = await events.history(caller)
        if (id !== now.id || after < before) throw cursorExpired()
        for (const event of page) {
          // The following events are already in the buffer.
          if (event.sequence > upTo) break
          after = event.sequence
          if (isWanted(event)) yield at(after, event)
        }
        const isAll = page.length < pageSize || (page.at(-1)?.sequence ?? 0) > upTo
        if (isAll) after = Math.max(after, upTo)
        // Otherwise a watcher of a rare kind could not tell a long history from a lost connection, and would begin it again.
        else if (!page.some(isWanted)) yield at(after)
      }
      signal.throwIfAborted()
      if (isLost) throw cursorExpired()
      const [next] = buffer
      if (next !== undefined) {
        buffer.shift()
        if (next.sequence <= after) continue
        after = next.sequence
        yield at(after, next)
        continue
      }
      await pause()
      if (buffer.length > 0 || after < inTable || isLost) continue
      after = Math.max(after, known)
      yield at(after)
    }
  } finally {
    subscription.end()
  }
}

function cursorExpired(): Failure {
  return new Failure("CURSOR_EXPIRED")
}
