import type { SessionStore } from "../store.js"
import type { Database } from "./database.js"
import type { EventOf } from "./event-rows.js"
import { type Statement, statement } from "./query/statement.js"
import type { SessionRow } from "./schema/entities.js"
import { idsOf, keyOfSession as keyOf } from "./session-keys.js"

type Key = Pick<SessionRow, "tenant" | "tokenHash">

interface Extension extends Key {
  userId: string
  /** When the session expires from then on. */
  expires: Date
  now: Date
  /** The latest expiry at which the session is extended; earlier than the new one. */
  due: Date
}

/**
 * The method `access` of the sessions.
 *
 * @param clock the time in milliseconds since 1970-01-01T00:00:00Z.
 * @param getWithUser reads a session and its user, and removes the session if it has expired.
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
  const { sessions } = database.tables
  // The condition is about the row as it is when it is locked, so it also holds for who has read it long before. As `due` is
  // earlier than the new expiry, no expiry becomes earlier, and whoever comes second finds nothing that is due. No index helps
  // with the CASE: by that of the users PostgreSQL would read every session that the user has.
  const extend: Statement<Extension> = statement(
    sessions
      .updateOf("expires")
      .where(
        `${sessions.keyIs()} AND CASE userId WHEN :userId THEN 1 ELSE 0 END = 1 AND expires >= :now AND expires <= :due`,
      ),
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
    const found = await getWithUser(caller, sessionToken)
    if (found === null) return null
    const { session, user } = found
    const now = clock()
    const due = new Date(now + maxAge - Math.max(updateAge, 1))
    if (session.expires > due) return { ...found, extended: false }

    const key = keyOf(caller, sessionToken)
    const expires = new Date(now + maxAge)
    const extension = { ...key, userId: session.userId, expires, now: new Date(now), due }
    const event = eventOf(caller, "session.updated", idsOf(session))
    const matched = await database.writes(caller, [sessions.nameOf(key)], (sql) => sql.write(extend, extension, event))
    if (matched === 1) return { session: { ...session, expires }, user, extended: true }
    // Somebody else has extended, changed or deleted it since it was read.
    const present = await getWithUser(caller, sessionToken)
    return present && { ...present, extended: false }
  }
}
