import { hash } from "node:crypto"
import type { EventFeed, FeedPosition, Subscription } from "../events/feed.js"
import type { EventStore } from "../store/store.js"
import type { EventKind, StoredEvent } from "../store/types.js"
import type { ChangeFeed, Look } from "./feed.js"

/** What ends or changes what GetSessionAndUser answers. */
const ofSessions: ReadonlySet<EventKind> = new Set<EventKind>(["session.updated", "session.deleted"])
const ofUsers: ReadonlySet<EventKind> = new Set<EventKind>(["user.updated", "user.deleted", "user.sessions_revoked"])

/** How soon following is tried again when the database does not answer, in milliseconds. */
const retryMs = 500

interface Follower {
  readonly tenant: string
  readonly listener: (look: Look) => void
}

/** The events that session caches have to know of: one subscription for the followers of all tenants. */
export function eventChanges(feed: EventFeed, events: Pick<EventStore, "areKept" | "last">): ChangeFeed {
  const followers = new Set<Follower>()
  /** Ends the subscription; undefined while nobody follows. */
  let end: (() => void) | undefined

  function tell(found: readonly StoredEvent[], position: FeedPosition, isReset = false): void {
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
    const tries = async (): Promise<void> => {
      try {
        const subscribed = await feed.subscribe({
          onEvents: (found, position) => isOver || tell(found, position),
          onReset: (position) => isOver || tell([], position, true),
        })
        if (isOver) subscribed.end()
        else subscription = subscribed
      } catch {
        // Until then no ping is answered.
        if (!isOver) setTimeout(tries, retryMs).unref()
      }
    }
    void tries()
    return () => {
      isOver = true
      subscription?.end()
    }
  }

  return {
    isOn: events.areKept,
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
      const all = await feed.flush()
      // Processes say how far a tenant's clients are when something happens in that tenant, and not in all others.
      return BigInt((await events.last({ tenant })) ?? all)
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

/** Undefined for one of which it is not known what it is about. */
function keyOfChange({ kind, sessionId, userId }: StoredEvent): string | undefined {
  if (ofSessions.has(kind) && sessionId !== undefined) return keyOf(`s${sessionId}`)
  return userId === undefined ? undefined : keyOf(`u${userId}`)
}

function keyOf(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 16)
}
