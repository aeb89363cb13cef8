import type { Caller, SessionStore } from "../../store.js"
import { lastTime } from "../../times.js"
import type { KeptSessions, ListedSession } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Change, type Statements, statement } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { ofPresentUser } from "../schema/present-users.js"
import type { SessionRow } from "../schema/rows.js"
import type { UserRevocations } from "../users/user-revocations.js"
import { hashOfToken, idsOf } from "./session-keys.js"
import { listedColumns, listedSession } from "./session-lists.js"
import { sessionRules } from "./session-rules.js"

/**
 * The maximum number of a user's sessions that one statement deletes. It keeps the transaction short, which other calls may share, and
 * within the limits of clusters.
 */
export const sessionsAtOnce = 100

/** A call about several users stops after it has deleted this number of sessions. */
const enoughSessions = 1000

/** A user's sessions before a position in the order of creation, without the sessions to keep. */
interface OfUser {
  tenant: string
  userId: string
  keptId: string
  keptHash: Buffer
  before: { created: Date; id: string }
}

/** All sessions: none has this id, this hash, or this time of creation. */
const all: Omit<OfUser, "tenant" | "userId"> = {
  keptId: "",
  keptHash: Buffer.alloc(32),
  before: { created: lastTime, id: "" },
}

export interface SessionRevocations
  extends Pick<SessionStore, "revoke" | "revokeOfUser" | "revokeOfUsers">,
    UserRevocations {}

/** Creates the revocations of sessions by callers without their tokens. */
export function sessionRevocations(database: Database, eventOf: EventOf): SessionRevocations {
  const { sessions, users } = database.tables
  const rules = sessionRules(database)
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(`${listedColumns(database, rules)}, s.tokenHash`)
      .where(`s.tenant = :tenant AND s.id = :id AND ${ofPresentUser("s.tenant", "s.userId")}`),
    "tenant",
    "id",
  )
  const deletedIfUnchanged = sessions.deletedIfUnchanged()
  /**
   * Selects the session that follows the first `sessionsAtOnce` ones of a user, the oldest first. The index contains
   * all selected columns.
   */
  const afterMany = sessions.statement(
    sessions
      .selectFrom("s")
      .select("s.created, s.id")
      // As in session-ranges.ts: for a range PostgreSQL expects more rows, and reads them in index order.
      .where(
        `s.tenant = :tenant AND ${database.engine === "postgres" ? "s.userId >= :userId AND s.userId <= :userId" : "s.userId = :userId"}`,
      )
      .orderBy("s.userId")
      .addOrderBy("s.created")
      .addOrderBy("s.id")
      .offset(sessionsAtOnce)
      .limit(1),
    "tenant",
    "userId",
  )
  // All engines find the place in the index by the first condition about the time; the rest makes it exact. The CASE prevents the use
  // of the indexes on ids and hashes.
  const deleteOfUser = statement<SessionRow, OfUser>(
    sessions
      .deleteFrom()
      .where("tenant = :tenant AND userId = :userId AND created <= :created")
      .andWhere("(created < :created OR (created = :created AND id < :id))")
      .andWhere("CASE WHEN id <> :keptId AND tokenHash <> :keptHash THEN 1 ELSE 0 END = 1")
      .andWhere(ofPresentUser(":tenant", ":userId")),
    {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      userId: ({ userId }) => sessions.cell("userId", userId),
      keptId: ({ keptId }) => sessions.cell("id", keptId),
      keptHash: ({ keptHash }) => sessions.cell("tokenHash", keptHash),
      created: ({ before }) => sessions.cell("created", before.created),
      id: ({ before }) => sessions.cell("id", before.id),
    },
  )

  /**
   * Deletes sessions in batches that are committed one by one, the oldest first, until one statement can delete the
   * rest. Returns their number. The caller's transaction is not used, and must not have the turn of the user yet.
   *
   * @param first runs before the first batch, if there is one.
   */
  async function deleteMost(
    caller: Caller,
    ofUser: OfUser,
    event: readonly Change[],
    first?: () => Promise<unknown>,
  ): Promise<number> {
    const separate = { ...caller, transaction: undefined }
    const rows = [users.nameOf({ tenant: ofUser.tenant, id: ofUser.userId })]
    let revoked = 0
    for (;;) {
      const [cells] = await database.reads(separate).read(afterMany, ofUser)
      if (cells === undefined) return revoked
      if (revoked === 0) await first?.()
      const [created, id] = cells as [Cell, Cell]
      const before = { created: sessions.value("created", created) as Date, id: sessions.value("id", id) as string }
      const oldest = { ...ofUser, before }
      const deleted = await database.write(separate, rows, (sql) => sql.write(deleteOfUser, oldest, event))
      revoked += deleted
      // Another call has deleted them.
      if (deleted === 0) return revoked
    }
  }

  const revokeOfUser: SessionStore["revokeOfUser"] = async (caller, userId, { id, sessionToken }: KeptSessions) => {
    const { tenant } = caller
    const ofUser = { tenant, userId, ...all }
    if (id !== undefined) ofUser.keptId = id
    if (sessionToken !== undefined) ofUser.keptHash = hashOfToken(sessionToken)
    const event = eventOfUser(caller, userId, id)
    const most = await deleteMost(caller, ofUser, event)
    // Transactions that create a session of the user take turns with this one.
    const rows = [users.nameOf({ tenant, id: userId })]
    return most + (await database.write(caller, rows, (sql) => sql.write(deleteOfUser, ofUser, event)))
  }

  const eventOfUser = (caller: Caller, userId: string, sessionId?: string) =>
    eventOf(caller, "user.sessions_revoked", { userId, sessionId })

  return {
    async revoke(caller, id, userId): Promise<ListedSession | null> {
      const { tenant } = caller
      const [read] = await database.reads(caller).read(byId, { tenant, id })
      if (read === undefined) return null
      // Neither the id nor the token of a session ever changes, and neither is reused for another session.
      const key = { tenant, tokenHash: Buffer.from(read.at(-1) as Buffer) }
      const deleteIt = async (sql: Statements) => {
        for (
          let cells: Cell[] | undefined = read;
          cells !== undefined;
          [cells] = await sql.read(byId, { tenant, id })
        ) {
          const session = listedSession(database, rules, cells)
          if (userId !== undefined && userId !== session.userId) return null
          try {
            const event = eventOf(caller, "session.deleted", idsOf(session))
            await sql.change([deletedIfUnchanged({ ...key, cells }), ...event])
            return session
          } catch (error) {
            // The row was changed or deleted between the two statements.
            if (!failsBy(error, "unmatched")) throw error
          }
        }
        return null
      }
      return database.write(caller, [sessions.nameOf(key)], deleteIt)
    },

    revokeOfUser,

    revokeMost: (caller, userId, first) =>
      deleteMost(caller, { tenant: caller.tenant, userId, ...all }, eventOfUser(caller, userId), first),

    revokeRest: (sql, caller, userId) =>
      sql.write(deleteOfUser, { tenant: caller.tenant, userId, ...all }, eventOfUser(caller, userId)),

    async revokeOfUsers(caller, userIds) {
      // Like the batches of a user with many sessions, each user's are deleted outside of the caller's transaction.
      const separate = { ...caller, transaction: undefined }
      let [processed, revoked] = [0, 0]
      for (const userId of userIds) {
        revoked += await revokeOfUser(separate, userId, {})
        processed++
        if (revoked >= enoughSessions) break
      }
      return { processed, revoked }
    },
  }
}
