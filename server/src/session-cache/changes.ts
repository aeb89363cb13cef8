import { hash } from "node:crypto"
import type { EventFeed } from "../events/feed.js"
import type { FeedPosition } from "../events/subscription.js"
import type { EventStore } from "../store/store.js"
import type { EventKind, StoredEvent } from "../store/types.js"

/** The changes of a tenant that one read of the events has found. */
export interface Changes {
  /** A time by the clock of the feed. All changes that were committed before have been delivered. */
  readonly asOf: number
  /** The position up to which changes have been delivered, in the sequence of the tenant that all processes share. */
  readonly sequence: bigint
  /** The keys of what was changed or deleted; see FollowResponse.keys. */
  readonly keys: readonly string[]
  /** Whether a change concerns all sessions of the tenant. */
  readonly isOfAll: boolean
  /** Whether changes may be missing, or the sequence is that of another database. Previous state is then invalid. */
  readonly isReset: boolean
}

/** The committed changes of each tenant, in their order, each once. */
export interface ChangeFeed {
  /** Whether changes are delivered; otherwise clients must not cache anything. */
  readonly isOn: boolean
  /** Calls the listener after every read of the events from now on. Returns the function that ends this. */
  follow(tenant: string, listener: (changes: Changes) => void): () => void
  /**
   * Returns a sequence that covers everything of the tenant that was committed before this call. It is not higher than
   * that of the tenant's last event. Rejects if it cannot be read.
   */
  reach(tenant: string): Promise<bigint>
}

/** The kinds of events that end or change a result of GetSessionAndUser. */
const ofSessions: ReadonlySet<EventKind> = new Set<EventKind>(["session.updated", "session.deleted"])
const ofUsers: ReadonlySet<EventKind> = new Set<EventKind>([
  "user.updated",
  "user.disabled",
  "user.deleted",
  "user.sessions_revoked",
])

/** The kinds that concern every session of the tenant. */
const ofAll: ReadonlySet<EventKind> = new Set<EventKind>(["all_sessions.revoked", "session_policy.updated"])

/** Creates the feed of changes from the feed of events. */
export function changeFeed(feed: EventFeed, { isEnabled }: Pick<EventStore, "isEnabled">): ChangeFeed {
  return {
    isOn: isEnabled,
    follow(tenant, listener) {
      const { end } = feed.subscribe({
        tenant,
        onEvents: (found, position) => listener(changesOf(found, position)),
        onReset: (position) => listener({ ...changesOf([], position), isReset: true }),
      })
      return end
    },
    reach: async (tenant) => BigInt(await feed.flush(tenant)),
  }
}

function changesOf(events: readonly StoredEvent[], { sequence, asOf }: FeedPosition): Changes {
  const keys = events.filter(({ kind }) => ofSessions.has(kind) || ofUsers.has(kind)).map(keyOfChange)
  return {
    asOf,
    sequence: BigInt(sequence),
    keys: keys.filter((key) => key !== undefined),
    isOfAll: events.some(({ kind }) => ofAll.has(kind)),
    isReset: keys.includes(undefined),
  }
}

/** Returns the key of the session or user that changed; undefined if the event names neither. */
function keyOfChange({ kind, sessionId, userId }: StoredEvent): string | undefined {
  if (ofSessions.has(kind) && sessionId !== undefined) return keyOf(`s${sessionId}`)
  return userId === undefined ? undefined : keyOf(`u${userId}`)
}

function keyOf(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 16)
}
