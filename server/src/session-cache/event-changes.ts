import { hash } from "node:crypto"
import type { EventFeed, FeedPosition, Subscription } from "../events/feed.js"
import type { EventStore } from "../store/store.js"
import type { EventKind, StoredEvent } from "../store/types.js"
import type { ChangeFeed, Look } from "./feed.js"

/** The kinds of events that end or change a result of GetSessionAndUser. */
const ofSessions: ReadonlySet<EventKind> = new Set<EventKind>(["session.updated", "session.deleted"])
const ofUsers: ReadonlySet<EventKind> = new Set<EventKind>(["user.updated", "user.deleted", "user.sessions_revoked"])

/** The delay before a failed subscription is retried, in milliseconds. */
const retryMs = 500

interface Follower {
  readonly tenant: string
  readonly listener: (look: Look) => void
}

/** Creates the change feed of session caches from events, with one subscription for the followers of all tenants. */
export function eventChanges(feed: EventFeed, events: Pick<EventStore, "isEnabled" | "last">): ChangeFeed {
  const followers = new Set<Follower>()
  /** Ends the subscription; undefined while there are no followers. */
  let end: (() => void) | undefined

  function notify(found: readonly StoredEvent[], position: FeedPosition, isReset = false): void {
    const nothing = lookOf([], position, isReset)
    const byTenant = Map.groupBy(found, ({ tenant }) => tenant)
    const looks = new Map<string, Look>()
    for (const { tenant, listener } of followers) {
      const own = byTenant.get(tenant)
      const look = looks.get(tenant) ?? (own === undefined ? nothing : lookOf(own, position, isReset))
      looks.set(tenant, look)
      listener(look)
    }
  }

  function subscribe(): () => void {
    let subscription: Subscription | undefined
    let isOver = false
    const trySubscribe = async (): Promise<void> => {
      try {
        const subscribed = await feed.subscribe({
          onEvents: (found, position) => isOver || notify(found, position),
          onReset: (position) => isOver || notify([], position, true),
        })
        if (isOver) subscribed.end()
        else subscription = subscribed
      } catch {
        // No ping is answered until the subscription succeeds.
        if (!isOver) setTimeout(trySubscribe, retryMs).unref()
      }
    }
    void trySubscribe()
    return () => {
      isOver = true
      subscription?.end()
    }
  }

  return {
    isOn: events.isEnabled,
    of: (tenant) => ({
      now: () => performance.now(),
      follow(listener) {
        const follower = { tenant, listener }
        followers.add(follower)
        end ??= subscribe()
        return () => {
          if (!followers.delete(follower) || followers.size > 0) return
          end?.()
          end = undefined
        }
      },
    }),
    async reach(tenant) {
      await feed.flush()
      // Processes write a tenant's row only because of its own events, so a call must not wait for those of other tenants. Without
      // any event that is kept, there is nothing to wait for.
      return BigInt((await events.last({ tenant })) ?? 0)
    },
  }
}

function lookOf(events: readonly StoredEvent[], { sequence, asOf }: FeedPosition, isReset: boolean): Look {
  const keys = events.filter(({ kind }) => ofSessions.has(kind) || ofUsers.has(kind)).map(keyOfChange)
  return {
    began: asOf,
    sequence: BigInt(sequence),
    keys: keys.filter((key) => key !== undefined),
    isNews: events.length > 0,
    isBroken: isReset || keys.includes(undefined),
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
