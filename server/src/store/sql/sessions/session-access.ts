import type { Caller, SessionStore } from "../../store.js"
import type { SessionAndUser } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { sessionExtensions } from "./session-extensions.js"
import { keyOfSession as keyOf } from "./session-keys.js"

/** A session that was read, and the end of its absolute lifetime. */
export interface FoundSession extends SessionAndUser {
  readonly latest: Date | undefined
}

/**
 * Creates the method `access` of the session store.
 *
 * @param clock the time in milliseconds since 1970-01-01T00:00:00Z.
 * @param find reads a session and its user, and deletes the session if it has expired.
 */
export function sessionAccess(
  database: Database,
  options: {
    clock: () => number
    find: (caller: Caller, sessionToken: string) => Promise<FoundSession | null>
    eventOf: EventOf
  },
): SessionStore["access"] {
  const { clock, find, eventOf } = options
  const extend = sessionExtensions(database, { clock, eventOf })

  return async (caller, sessionToken, { maxAge, updateAge }) => {
    // It may read after it has written, which a unit that is committed together must not.
    if (caller.transaction !== undefined) throw new TypeError("access cannot be a part of Store.once")
    const found = await find(caller, sessionToken)
    if (found === null) return null
    const { session, user, latest } = found
    const now = clock()
    // A session is not extended beyond its absolute lifetime, and not at all if that leaves its expiry as it is.
    const longest = latest === undefined ? maxAge : Math.min(maxAge, latest.getTime() - now)
    const dueMs = Math.min(maxAge - Math.max(updateAge, 1), longest - 1)
    if (session.expires.getTime() > now + dueMs) return { session, user, extended: false }

    const { tokenHash } = keyOf(caller, sessionToken)
    const expires = await extend(caller, { tokenHash, session, maxAge: longest, dueMs })
    if (expires !== undefined) {
      const extended = latest !== undefined && latest < expires ? latest : expires
      return { session: { ...session, expires: extended }, user, extended: true }
    }
    // Another call has extended, changed or deleted it since it was read.
    const present = await find(caller, sessionToken)
    return present && { session: present.session, user: present.user, extended: false }
  }
}
