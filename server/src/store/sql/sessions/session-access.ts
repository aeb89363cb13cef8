import type { Caller, SessionStore } from "../../store.js"
import type { Session } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { statement } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"
import { idsOf, keyOfSession as keyOf } from "./session-keys.js"

interface Extension extends Pick<SessionRow, "tenant" | "tokenHash" | "userId" | "expires"> {
  now: Date
  due: Date
}

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
  const { sessions } = database.tables
  /**
   * The conditions apply to the row as it is now, even if the caller read the session long before. `due` is earlier than the new expiry,
   * so no expiry becomes earlier, and a second call finds nothing that is due. The CASE prevents the use of the index on users, by which
   * PostgreSQL would read every session of the user.
   */
  const isDue = "CASE userId WHEN :userId THEN 1 ELSE 0 END = 1 AND expires >= :now AND expires <= :due"
  const extendDue = statement<SessionRow, Extension>(
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

  /** Returns the new expiry, or undefined if the session is no longer due. Extensions at the same time share a transaction. */
  async function extend(caller: Caller, session: Session, maxAge: number, dueMs: number): Promise<Date | undefined> {
    const now = clock()
    const expires = new Date(now + maxAge)
    const { userId } = session
    const key = keyOf(caller, session.sessionToken)
    const extension = { ...key, userId, expires, now: new Date(now), due: new Date(now + dueMs) }
    const event = eventOf(caller, "session.updated", idsOf(session))
    const matched = await database.together(caller, [sessions.nameOf(key)], (transaction) =>
      database.writes({ ...caller, transaction }, [], (sql) => sql.write(extendDue, extension, event)),
    )
    return matched === 1 ? expires : undefined
  }

  return async (caller, sessionToken, { maxAge, updateAge }) => {
    // It may read after it has written, which a unit that is committed together must not.
    if (caller.transaction !== undefined) throw new TypeError("access cannot be a part of Store.once")
    const found = await getWithUser(caller, sessionToken)
    if (found === null) return null
    const { session, user } = found
    const dueMs = maxAge - Math.max(updateAge, 1)
    if (session.expires.getTime() > clock() + dueMs) return { ...found, extended: false }

    const expires = await extend(caller, session, maxAge, dueMs)
    if (expires !== undefined) return { session: { ...session, expires }, user, extended: true }
    // Another call has extended, changed or deleted it since it was read.
    const present = await getWithUser(caller, sessionToken)
    return present && { ...present, extended: false }
  }
}
