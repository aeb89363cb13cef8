import type { Caller, SessionStore } from "../../store.js"
import type { SessionAndUser } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { statement } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"
import { idsOf, keyOfSession as keyOf } from "./session-keys.js"

/** A session that was read, and the end of its absolute lifetime. */
export interface FoundSession extends SessionAndUser {
  readonly latest: Date | undefined
}

interface Extension extends Pick<SessionRow, "tenant" | "tokenHash" | "userId" | "expires"> {
  now: Date
  due: Date
}

/**
 * Creates the method `access` of the session store. The conditions of an extension apply to the row at the time of writing, so
 * they hold even if the session was read long before. `due` is earlier than the new expiry, so no expiry becomes earlier, and a
 * second call finds nothing that is due.
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
  const { sessions } = database.tables
  // The CASE prevents the use of the indexes on users and expiries, by which PostgreSQL or MariaDB would read many sessions.
  const isDue = "CASE WHEN userId = :userId AND expires >= :now AND expires <= :due THEN 1 ELSE 0 END = 1"
  const extend = statement<SessionRow, Extension>(
    sessions.updateOf("expires").where(`${sessions.keyIs()} AND ${isDue}`),
    {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      tokenHash: ({ tokenHash }) => sessions.cell("tokenHash", tokenHash),
      userId: ({ userId }) => sessions.cell("userId", userId),
      expires: ({ expires }) => sessions.cell("expires", expires),
      now: ({ now }) => sessions.cell("expires", now),
      due: ({ due }) => sessions.cell("expires", due),
    },
  )

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

    const [expires, due] = [new Date(now + longest), new Date(now + dueMs)]
    const row = { ...keyOf(caller, sessionToken), userId: session.userId, expires, now: new Date(now), due }
    const event = eventOf(caller, "session.updated", idsOf(session))
    const extended =
      (await database.write(caller, [sessions.nameOf(row)], (sql) => sql.write(extend, row, event))) === 1
    // While the call waited, others may have changed, extended or deleted the session, and changed or disabled its user.
    const present = await find(caller, sessionToken)
    return present && { session: present.session, user: present.user, extended }
  }
}
