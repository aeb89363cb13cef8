import { StoreError } from "../../../errors/store-error.js"
import type { Caller, SessionStore } from "../../store.js"
import type { Session } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { sharedLookup } from "../query/batched-lookup.js"
import type { Cell } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { checkJsonSize, mergeExtra } from "../schema/extra.js"
import { isEnabled } from "../schema/present-users.js"
import type { SessionRow } from "../schema/rows.js"
import { againIfUnprepared } from "../transaction/unprepared.js"
import { userTurns } from "../turns.js"
import { seenUsers, startOfDay } from "../users/seen-users.js"
import { userChecks } from "../users/user-checks.js"
import { leftRows } from "../users/user-deletions.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { lastSeenWriter } from "./last-seen.js"
import { type FoundSession, sessionAccess } from "./session-access.js"
import { sessionCount } from "./session-count.js"
import { sessionInserts } from "./session-inserts.js"
import { idsOf, keyOfSession as keyOf, newHandle } from "./session-keys.js"
import { sessionLists } from "./session-lists.js"
import { revocationOfAll } from "./session-policies.js"
import type { SessionRevocations } from "./session-revocations.js"
import { isEnded, sessionRules, within } from "./session-rules.js"

/** The longest time that a read waits for the deletion of a session that has expired, in milliseconds: its row may be locked. */
const longestDeletionMs = 1_000

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
  const turns = userTurns(database)
  const sessionsOfUsers = (condition = "") =>
    sessions.selectFrom("s").innerJoin(users.entity, "u", `u.tenant = s.tenant AND u.id = s.userId${condition}`)
  const rules = sessionRules(database)
  const sessionAndUserByHash = sharedLookup(database, {
    from: () => sessionsOfUsers(` AND ${isEnabled("u", database.dialect)}`),
    columns: `${sessions.columns("s")}, ${rules.columns.join(", ")}, ${users.columns("u")}`,
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
    sessions.deleteFrom().where(`${sessions.keyIs()} AND expires < ${database.dialect.now}`),
    ...sessions.key,
  )
  // A session that the policy has ended stays ended if the policy changes later, unless it has been used meanwhile.
  const deleteUnused = sessions.statement(
    sessions.deleteFrom().where(`${sessions.keyIs()} AND COALESCE(lastSeen, created) <= :lastSeen`),
    ...sessions.key,
    "lastSeen",
  )
  const withLimitsForUpdate = sessions.withColumnsForUpdate(rules.columns)
  const { missing, refusalOf } = userChecks(database)
  const removeLeft = leftRows(database, sessions)
  const lastSeen = lastSeenWriter(database, clock)
  const seenUser = seenUsers(database)
  /** The lock name of a session's user, whose row the foreign key locks. */
  const userName = ({ tenant }: Caller, id: string) => users.nameOf({ tenant, id })

  const find = async (caller: Caller, sessionToken: string): Promise<FoundSession | null> => {
    const key = keyOf(caller, sessionToken)
    const cells = await sessionAndUserByHash(caller, [sessions.cell("tokenHash", key.tokenHash)])
    if (cells === undefined) return null
    const limits = rules.limitsIn(cells, sessions.width)
    if (limits?.isRevoked) return null
    const stored = sessions.row(cells)
    const session = { sessionToken, ...stored, expires: within(stored.expires, limits) }
    const now = clock()
    if (session.expires.getTime() >= now && !isEnded(limits, now)) {
      const seen = sessions.value("lastSeen", cells[sessions.width + 1] as Cell)
      lastSeen.record({ ...key, userId: session.userId }, seen)
      return { session, user: users.row(cells, sessions.width + rules.columns.length), latest: limits?.latest }
    }
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), longestDeletionMs)
    const signal = caller.signal === undefined ? late.signal : AbortSignal.any([caller.signal, late.signal])
    try {
      await database.write({ ...caller, transaction: undefined, signal }, [sessions.nameOf(key)], (sql) =>
        limits === undefined || stored.expires.getTime() < now
          ? sql.write(deleteExpired, key)
          : sql.write(deleteUnused, { ...key, lastSeen: limits.used }),
      )
    } catch (error) {
      caller.signal?.throwIfAborted()
      // The row is locked, or the database accepts no writes, but it still answers reads. The cleanup deletes the session later.
      const { cause } = error as Error
      if (!late.signal.aborted && !failsBy(cause, "read-only") && !failsBy(cause, "full")) throw error
    } finally {
      clearTimeout(timer)
    }
    return null
  }

  const getWithUser: SessionStore["getWithUser"] = async (caller, sessionToken) => {
    const found = await find(caller, sessionToken)
    return found && { session: found.session, user: found.user }
  }

  const inserts = sessionInserts(database, { clock, seenUser, eventOf, revocations })

  return {
    ...sessionLists(database, { tokens, clock, rules }),
    count: sessionCount(database, { clock, rules }),
    revoke: revocations.revoke,
    revokeOfUser: revocations.revokeOfUser,
    revokeOfUsers: revocations.revokeOfUsers,
    revokeAll: revocationOfAll(database, { clock, eventOf }),

    async create(caller, given, metadata) {
      checkJsonSize("extra", given.extra)
      const session = { ...given, id: newHandle() }
      const now = new Date(clock())
      const row = { ...rowOf(caller, session), ...metadata, created: now, lastSeen: now }
      for (;;) {
        try {
          return { ...session, expires: await inserts.insert(caller, row, userName(caller, row.userId)) }
        } catch (error) {
          if (failsBy(error, "no-parent")) throw await missing(caller, row.userId)
          if (!failsBy(error, "duplicate")) throw error
          if (await removeLeft(caller, row)) continue
          throw new StoreError("SESSION_ALREADY_EXISTS", "the session token is taken")
        }
      }
    },

    getWithUser,

    async update(caller, sessionToken, patch) {
      const key = keyOf(caller, sessionToken)
      const newUser = patch.userId === undefined ? [] : [userName(caller, patch.userId)]
      const work = () =>
        database.write(caller, [sessions.nameOf(key), ...newUser], async (sql) => {
          const [cells] = await sql.read(withLimitsForUpdate, key)
          if (cells === undefined) return null
          const stored = sessions.row(cells)
          const limits = rules.limitsIn(cells, sessions.width)
          const now = new Date(clock())
          if (within(stored.expires, limits) < now || isEnded(limits, now.getTime())) return null
          const session: Session = {
            id: stored.id,
            sessionToken,
            userId: patch.userId ?? stored.userId,
            expires: within(patch.expires ?? stored.expires, limits),
            extra: mergeExtra(stored.extra, patch.extra),
          }
          // Auth.js asks again and again for an extension beyond the absolute lifetime.
          const isAsked = patch.expires !== undefined && patch.expires > session.expires
          const isOther = patch.userId !== undefined || patch.extra !== undefined
          if (isAsked && !isOther && session.expires.getTime() === stored.expires.getTime()) return session
          checkJsonSize("extra", session.extra)
          const user = { tenant: caller.tenant, id: session.userId }
          if (user.id !== stored.userId) {
            // Otherwise the user could be disabled between the check and the write, and have a session that is never ended.
            await turns.take(sql, user)
            const refusal = await refusalOf(sql, user)
            if (refusal !== undefined) throw refusal
            await inserts.makeRoom(sql, caller, user.id)
          }
          const seen = sessions.value("lastSeen", cells[sessions.width + 1] as Cell)
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
      return againIfUnprepared(caller, work)
    },

    // The read is shared with other calls and does not occupy a writer's connection.
    async delete(caller, sessionToken) {
      const key = keyOf(caller, sessionToken)
      const read = await sessionByHash(caller, [sessions.cell("tokenHash", key.tokenHash)])
      if (read === undefined) return null
      return revocations.deleteAsRead(caller, {
        key,
        cells: read,
        again: (sql) => sql.read(sessions.byKey, key),
        make: (cells) => ({ sessionToken, ...sessions.row(cells) }),
      })
    },

    access: sessionAccess(database, { clock, find, eventOf }),
  }
}

function rowOf(caller: Caller, { sessionToken, ...rest }: Session): SessionRow {
  return { ...rest, ...keyOf(caller, sessionToken) }
}
