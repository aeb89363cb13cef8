import type { SessionStore } from "../../store.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { sessionExtensions } from "./session-extensions.js"
import { keyOfSession as keyOf } from "./session-keys.js"

/**
 * Creates the method `access` of the session store.
 *
 * @param clock the time in milliseconds since 1970-01-01T00:00:00Z.
 * @param getWithUser reads a session and its user, and deletes the session if it has expired.
 */
export function sessionAccess(
  database: Database,
  options: {
    clock: () => number
    getWithUser: SessionStore["getWithUser"]
    eventOf: EventOf
  },
): SessionStore["access"] {
  const { clock, getWithUser, eventOf } = options
  const extend = sessionExtensions(database, { clock, eventOf })

  return async (caller, sessionToken, { maxAge, updateAge }) => {
    // It may read after it has written, which a unit that is committed together must not.
    if (caller.transaction !== undefined) throw new TypeError("access cannot be a part of Store.once")
    const found = await getWithUser(caller, sessionToken)
    if (found === null) return null
    const { session, user } = found
    const dueMs = maxAge - Math.max(updateAge, 1)
    if (session.expires.getTime() > clock() + dueMs) return { ...found, extended: false }

    const { tokenHash } = keyOf(caller, sessionToken)
    const expires = await extend(caller, { tokenHash, session, maxAge, dueMs })
    if (expires !== undefined) return { session: { ...session, expires }, user, extended: true }
    // Another call has extended, changed or deleted it since it was read.
    const present = await getWithUser(caller, sessionToken)
    return present && { ...present, extended: false }
  }
}
