import { StoreError } from "../../../errors/store-error.js"
import type { Caller, SessionStore } from "../../store.js"
import type { Session } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { sharedLookup } from "../query/batched-lookup.js"
import type { PageTokens } from "../query/page-tokens.js"
import type { Cell, Statements } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { currentTime } from "../schema/current-time.js"
import { isEnabled } from "../schema/disabled-users.js"
import { checkJsonSize, mergeExtra } from "../schema/extra.js"
import type { SessionRow } from "../schema/rows.js"
import { seenUsers } from "../users/seen-users.js"
import { startOfDay } from "../users/start-of-day.js"
import { userChecks } from "../users/user-checks.js"
import { leftRows } from "../users/user-deletions.js"
import { lastSeenWriter } from "./last-seen.js"
import { sessionAccess } from "./session-access.js"
import { idsOf, keyOfSession as keyOf, newHandle } from "./session-keys.js"
import { sessionLists } from "./session-lists.js"
import type { SessionRevocations } from "./session-revocations.js"

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function sessionStore(
  database: Database,
  options: {
    tokens: PageTokens
    clock: () => number
    eventOf: EventOf
    revocations: SessionRevocations
  },
): SessionStore {
  const { tokens, clock, eventOf, revocations } = options
  const { sessions, users } = database.tables
  const sessionsOfUsers = (condition = "") =>
    sessions.selectFrom("s").innerJoin(users.entity, "u", `u.tenant = s.tenant AND u.id = s.userId${condition}`)
  const sessionAndUserByHash = sharedLookup(database, {
    from: () => sessionsOfUsers(` AND ${isEnabled("u", database.engine)}`),
    columns: `${sessions.columns("s")}, s.lastSeen, ${users.columns("u")}`,
    alias: "s",
    key: ["tokenHash"],
  })
  const sessionByHash = sharedLookup(database, {
    from: () => sessionsOfUsers(),
    columns: sessions.columns("s"),
    alias: "s",
    key: ["tokenHash"],
  })
  // The database's own clock decides, so a process whose clock is wrong deletes no session that lasts.
  const deleteExpired = sessions.statement(
    sessions.deleteFrom().where(`${sessions.keyIs()} AND expires < ${currentTime(database.engine)}`),
    ...sessions.key,
  )
  const byKeyForUpdate = sessions.withColumnsForUpdate(["lastSeen"])
  const deletedIfUnchanged = sessions.deletedIfUnchanged()
  const { missing, refusalOf } = userChecks(database)
  const removeLeft = leftRows(database, sessions)
  const lastSeen = lastSeenWriter(database, clock)
  const seenUser = seenUsers(database)
  /** The lock name of a session's user, whose row the foreign key locks. */
  const userName = ({ tenant }: Caller, id: string) => users.nameOf({ tenant, id })

  const getWithUser: SessionStore["getWithUser"] = async (caller, sessionToken) => {
    const key = keyOf(caller, sessionToken)
    const cells = await sessionAndUserByHash(caller, [sessions.cell("tokenHash", key.tokenHash)])
    if (cells === undefined) return null
    const session = { sessionToken, ...sessions.row(cells) }
    if (session.expires.getTime() >= clock()) {
      lastSeen.record({ ...key, userId: session.userId }, sessions.value("lastSeen", cells[sessions.width] as Cell))
      return { session, user: users.row(cells, sessions.width + 1) }
    }
    try {
      await database.writes(caller, [sessions.nameOf(key)], (sql) => sql.write(deleteExpired, key))
    } catch (error) {
      // A database that accepts no writes still answers reads. The cleanup deletes the session later.
      if (!(error instanceof StoreError && failsBy(error.cause, "read-only"))) throw error
    }
    return null
  }

  return {
    ...sessionLists(database, { tokens, clock }),
    revoke: revocations.revoke,
    revokeOfUser: revocations.revokeOfUser,
    revokeOfUsers: revocations.revokeOfUsers,

    async create(caller, given, origin) {
      checkJsonSize("extra", given.extra)
      const session = { ...given, id: newHandle() }
      const now = new Date(clock())
      const row = { ...rowOf(caller, session), ...origin, created: now, lastSeen: now }
      const { userId } = session
      for (;;) {
        try {
          const event = eventOf(caller, "session.created", { userId, sessionId: session.id })
          await database.writes(caller, [userName(caller, userId)], (sql) =>
            sql.change([seenUser({ tenant: caller.tenant, id: userId }), sessions.inserted(row), ...event]),
          )
          return session
        } catch (error) {
          if (failsBy(error, "no-parent")) throw await missing(caller, userId)
          if (!failsBy(error, "duplicate")) throw error
          if (await removeLeft(caller, row)) continue
          throw new StoreError("SESSION_ALREADY_EXISTS", "the session token is taken")
        }
      }
    },

    getWithUser,

    update(caller, sessionToken, patch) {
      const key = keyOf(caller, sessionToken)
      const newUser = patch.userId === undefined ? [] : [userName(caller, patch.userId)]
      return database.transaction(caller, [sessions.nameOf(key), ...newUser], async (sql) => {
        const [cells] = await sql.read(byKeyForUpdate, key)
        if (cells === undefined) return null
        const stored = sessions.row(cells)
        const now = new Date(clock())
        if (stored.expires < now) return null
        const session: Session = {
          id: stored.id,
          sessionToken,
          userId: patch.userId ?? stored.userId,
          expires: patch.expires ?? stored.expires,
          extra: mergeExtra(stored.extra, patch.extra),
        }
        checkJsonSize("extra", session.extra)
        const user = { tenant: caller.tenant, id: session.userId }
        const refusal = user.id === stored.userId ? undefined : await refusalOf(sql, user)
        if (refusal !== undefined) throw refusal
        const seen = sessions.value("lastSeen", cells[sessions.width] as Cell)
        const isSeenToday = seen !== undefined && seen >= startOfDay(now)
        if (patch.userId !== undefined || !isSeenToday) await sql.change([seenUser(user)])
        try {
          const row = { ...rowOf(caller, session), lastSeen: now }
          await sql.write(sessions.update, row, eventOf(caller, "session.updated", idsOf(session)))
        } catch (error) {
          if (!failsBy(error, "no-parent")) throw error
          throw (await refusalOf(sql, user)) ?? error
        }
        return session
      })
    },

    // Concurrent calls may read the session, but only one statement can delete the row, and it deletes only what was
    // read. So the returned session is the deleted one. This needs no transaction, which would take two more
    // statements. The first read is shared with other calls and does not occupy a writer's connection.
    async delete(caller, sessionToken) {
      const key = keyOf(caller, sessionToken)
      const read = await sessionByHash(caller, [sessions.cell("tokenHash", key.tokenHash)])
      if (read === undefined) return null
      const deleteIt = async (sql: Statements) => {
        for (let cells: Cell[] | undefined = read; cells !== undefined; [cells] = await sql.read(sessions.byKey, key)) {
          const session = { sessionToken, ...sessions.row(cells) }
          try {
            await sql.change([
              deletedIfUnchanged({ ...key, cells }),
              ...eventOf(caller, "session.deleted", idsOf(session)),
            ])
            return session
          } catch (error) {
            // The row was changed or deleted between the two statements.
            if (!failsBy(error, "unmatched")) throw error
          }
        }
        return null
      }
      return database.writes(caller, [sessions.nameOf(key)], deleteIt, { readsBefore: true })
    },

    access: sessionAccess(database, { clock, getWithUser, eventOf }),
  }
}

function rowOf(caller: Caller, { sessionToken, ...rest }: Session): SessionRow {
  return { ...rest, ...keyOf(caller, sessionToken) }
}
