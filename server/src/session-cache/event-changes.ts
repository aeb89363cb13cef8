import { hash } from "node:crypto"
import type { EventFeed, FeedPosition, Subscription } from "../events/feed.js"
import type { EventKind, StoredEvent } from "../store/types.js"
import type { Change, ChangeFeed, Look } from "./feed.js"

/** What ends or changes what GetSessionAndUser answers. */
const ofSessions: ReadonlySet<EventKind> = new Set<EventKind>(["session.updated", "session.deleted"])
const ofUsers: ReadonlySet<EventKind> = new Set<EventKind>(["user.updated", "user.deleted", "user.sessions_revoked"])
const kinds: ReadonlySet<EventKind> = new Set([...ofSessions, ...ofUsers])

/** How soon following is tried again when the database does not answer, in milliseconds. */
const retryMs = 500

/**
 * The events that session caches have to know of.
 *
 * @param areKept Whether writes add events.
 */
export function eventChanges(feed: EventFeed, areKept: boolean): ChangeFeed {
  return {
    isOn: areKept,
    now: () => performance.now(),
    follow(listener) {
      let subscription: Subscription | undefined
      let isOver = false
      const subscribe = async (): Promise<void> => {
        try {
          const subscribed = await feed.subscribe({
            kinds,
            onEvents: (events, position) => isOver || listener(lookOf(events, position)),
            onReset: (position) => isOver || listener({ ...lookOf([], position), isBroken: true }),
          })
          if (isOver) subscribed.end()
          else subscription = subscribed
        } catch {
          // Until then no ping is answered.
          if (!isOver) setTimeout(subscribe, retryMs).unref()
        }
      }
      void subscribe()
      return () => {
        isOver = true
        subscription?.end()
      }
    },
    reach: async () => BigInt(await feed.flush()),
  }
}

function lookOf(events: readonly StoredEvent[], { sequence, asOf }: FeedPosition): Look {
  const changes = events.map(changeOf)
  return {
    began: asOf,
    sequence: BigInt(sequence),
    changes: changes.filter((change) => change !== undefined),
    isBroken: changes.includes(undefined),
  }
}

/** Undefined for one of which it is not known what it is about. */
function changeOf({ kind, tenant, sessionId, userId }: StoredEvent): Change | undefined {
  if (ofSessions.has(kind) && sessionId !== undefined) return { tenant, keys: [keyOf(`s${sessionId}`)] }
  return userId === undefined ? undefined : { tenant, keys: [keyOf(`u${userId}`)] }
}

function keyOf(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 16)
}
