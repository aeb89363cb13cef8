import { Failure } from "../rpc/errors.js"
import type { Caller, EventStore } from "../store/store.js"
import type { EventKind, EventPosition, StoredEvent } from "../store/types.js"
import type { EventFeed, FeedSubscriber } from "./feed.js"

export interface WatchOptions {
  /** Only what follows it. Default: what is committed from now on. */
  start?: EventPosition | undefined
  /** Default: all. */
  kinds?: ReadonlySet<EventKind> | undefined
  /** How long nothing is told before it is told how far it has come, in milliseconds. Default 5,000. */
  checkpointMs?: number | undefined
}

/** How far a watcher has come, and the event that was there, if there was one. */
export interface Watched {
  readonly position: EventPosition
  readonly event: StoredEvent | undefined
}

/** How many events wait for a watcher. Beyond them they are forgotten, and read from the table when it comes to them. */
const mostWaiting = 1000

/** How many events of the table are read at once. */
const pageSize = 200

const defaultCheckpointMs = 5_000

/**
 * The events of the caller's tenant in their order, without an end, and how far it has come: at first, and then whenever there
 * was nothing for a while. From the table up to where the feed has them, then from the feed. Throws CURSOR_EXPIRED when events
 * have been cleaned away that follow where it is, and what the store throws.
 */
export async function* watch(
  { events, feed }: { events: Pick<EventStore, "read" | "history">; feed: EventFeed },
  caller: Caller & { readonly signal: AbortSignal },
  { start, kinds, checkpointMs = defaultCheckpointMs }: WatchOptions,
): AsyncGenerator<Watched, void> {
  const { tenant, signal } = caller
  let waiting: StoredEvent[] = []
  /** Events up to there do not wait: the table has them. */
  let inTable = 0
  /** All that was committed up to there is among those that wait, or was told, or is in the table. */
  let known = 0
  let isLost = false
  let wake = () => {}
  const subscriber: FeedSubscriber = {
    tenant,
    kinds,
    onEvents(found, { sequence }) {
      known = sequence
      if (waiting.length + found.length > mostWaiting) {
        waiting = []
        inTable = sequence
      } else waiting.push(...found)
      if (found.length > 0) wake()
    },
    onReset() {
      isLost = true
      wake()
    },
  }
  const rest = () =>
    new Promise<void>((resolve) => {
      const over = () => {
        clearTimeout(timer)
        signal.removeEventListener("abort", over)
        wake = () => {}
        resolve()
      }
      const timer = setTimeout(over, checkpointMs)
      signal.addEventListener("abort", over, { once: true })
      wake = over
      if (signal.aborted) over()
    })

  const subscription = await feed.subscribe(subscriber)
  try {
    const first = subscription.start.sequence
    inTable = Math.max(inTable, first)
    known = Math.max(known, first)
    const now = await events.history(caller)
    if (start !== undefined && (start.history !== now.id || start.sequence > now.last)) throw cursorExpired()
    let after = start?.sequence ?? first
    const at = (sequence: number, event?: StoredEvent): Watched => ({ position: { history: now.id, sequence }, event })
    if (after < now.before) throw cursorExpired()
    yield at(after)
    for (;;) {
      while (after < inTable) {
        const upTo = inTable
        const page = await events.read(caller, { after, limit: pageSize, tenant })
        // Asked afterwards: what was cleaned away before the page was read is known by now.
        const { id, before } = await events.history(caller)
        if (id !== now.id || after < before) throw cursorExpired()
        for (const event of page) {
          // Those from here on wait already.
          if (event.sequence > upTo) break
          after = event.sequence
          if (kinds?.has(event.kind) ?? true) yield at(after, event)
        }
        const isAll = page.length < pageSize || (page.at(-1)?.sequence ?? 0) > upTo
        if (isAll) after = Math.max(after, upTo)
      }
      signal.throwIfAborted()
      if (isLost) throw cursorExpired()
      const [next] = waiting
      if (next !== undefined) {
        waiting.shift()
        if (next.sequence <= after) continue
        after = next.sequence
        yield at(after, next)
        continue
      }
      await rest()
      signal.throwIfAborted()
      if (waiting.length > 0 || after < inTable || isLost) continue
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
