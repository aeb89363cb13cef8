import { oncePer } from "../../../util/once-per.js"
import type { Caller, SessionStore } from "../../store.js"
import { lastTime } from "../../times.js"
import type { KeptSessions, Session } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Change, type Statement, type Statements, statement } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { ofPresentUser } from "../schema/present-users.js"
import type { SessionRow } from "../schema/rows.js"
import type { UserRevocations } from "../users/user-revocations.js"
import { type AlongOptions, along, type Reach } from "../walks/along.js"
import { walks } from "../walks/walks.js"
import { hashOfToken, idsOf } from "./session-keys.js"
import { listedColumns, listedSession } from "./session-lists.js"
import { sessionRules } from "./session-rules.js"

/**
 * The maximum number of a user's sessions that one statement deletes. It keeps the transaction short, which other calls may share, and
 * within the limits of clusters.
 */
const sessionsAtOnce = 100

/** A call about several users stops after it has deleted this number of sessions. */
const enoughSessions = 1000

/** A place among the sessions of a user, in the order of their creation. */
export interface Position {
  created: Date
  id: string
}

/** A user's sessions up to a position, without the sessions to keep. */
interface OfUser {
  tenant: string
  userId: string
  keptId: string
  keptHash: Buffer
  last: Position
}

/** All sessions: none has this id, this hash, or this time of creation. */
const all: Omit<OfUser, "tenant" | "userId"> = {
  keptId: "",
  keptHash: Buffer.alloc(32),
  last: { created: lastTime, id: "" },
}

/** A session as it was read. */
interface AsRead<T> {
  key: Pick<SessionRow, "tenant" | "tokenHash">
  cells: Cell[]
  /** Reads it again. */
  again(sql: Statements): Promise<Cell[][]>
  /** Makes the session of the cells; null: it is not deleted. */
  make(cells: Cell[]): T | null
}

export interface SessionRevocations
  extends Pick<SessionStore, "revoke" | "revokeOfUser" | "revokeOfUsers">,
    UserRevocations {
  /** Deletes a session as it was read, or as it is by now, and returns it; null if there is none any more. */
  deleteAsRead<T extends Pick<Session, "id" | "userId">>(caller: Caller, session: AsRead<T>): Promise<T | null>
  /** Deletes the oldest sessions of a user like `revokeMost`, and leaves at least `left` of them. */
  revokeOldest(caller: Caller, userId: string, left: number): Promise<number>
  /** Deletes a session of a user and all older ones, in a transaction that has locked the user. */
  revokeUpTo(sql: Statements, caller: Caller, userId: string, last: Position): Promise<number>
}

/** Selects the position of the session of a user that follows `offset` others, the oldest first or, backwards, the newest. */
export function sessionAt<More = unknown>(
  database: Database,
  options: Pick<AlongOptions<SessionRow, Reach<SessionRow> & More>, "backwards" | "offset" | "where" | "parameters">,
): Statement<Reach<SessionRow> & More> {
  const position = { alias: "s", select: "s.created, s.id", limit: 1 }
  return along<"sessions", More>(database, walks.sessionsOfUser, { ...position, ...options })
}

/** Converts the cells of `sessionAt`. */
export function positionIn({ tables: { sessions } }: Database, [created, id]: Cell[]): Position {
  return {
    created: sessions.value("created", created as Cell) as Date,
    id: sessions.value("id", id as Cell) as string,
  }
}

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
  const deletionIfUnchanged = sessions.deletionIfUnchanged()
  const lastOfMany = sessionAt(database, { offset: sessionsAtOnce - 1 })
  const lastBeyond = oncePer((left: number) =>
    sessionAt(database, { backwards: true, offset: left + sessionsAtOnce - 1 }),
  )
  // All engines find the place in the index by the first condition about the time; the rest makes it exact. The CASE prevents the use
  // of the indexes on ids and hashes.
  const deleteOfUser = statement<SessionRow, OfUser>(
    sessions
      .deleteFrom()
      .where("tenant = :tenant AND userId = :userId AND created <= :created")
      .andWhere("(created < :created OR (created = :created AND id <= :id))")
      .andWhere("CASE WHEN id <> :keptId AND tokenHash <> :keptHash THEN 1 ELSE 0 END = 1")
      .andWhere(ofPresentUser(":tenant", ":userId")),
    {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      userId: ({ userId }) => sessions.cell("userId", userId),
      keptId: ({ keptId }) => sessions.cell("id", keptId),
      keptHash: ({ keptHash }) => sessions.cell("tokenHash", keptHash),
      created: ({ last }) => sessions.cell("created", last.created),
      id: ({ last }) => sessions.cell("id", last.id),
    },
  )

  const eventOfUser = (caller: Caller, userId: string, sessionId?: string) =>
    eventOf(caller, "user.sessions_revoked", { userId, sessionId })

  /**
   * Deletes sessions in batches that are committed one by one, the oldest first, until at least `left` and less than a batch more are
   * left. Returns their number. The caller's transaction is not used, and must not have the turn of the user yet.
   *
   * @param first runs before the first batch, if there is one.
   */
  async function deleteOldest(
    caller: Caller,
    ofUser: OfUser,
    { left, event, first }: { left: number; event: readonly Change[]; first?: (() => Promise<unknown>) | undefined },
  ): Promise<number> {
    const separate = { ...caller, transaction: undefined }
    const reads = database.reads(separate)
    const of = { tenant: ofUser.tenant, userId: ofUser.userId }
    const rows = [users.nameOf({ tenant: ofUser.tenant, id: ofUser.userId })]
    let revoked = 0
    for (;;) {
      if (left > 0 && (await reads.read(lastBeyond(left), { of })).length === 0) return revoked
      const [cells] = await reads.read(lastOfMany, { of })
      if (cells === undefined) return revoked
      if (revoked === 0) await first?.()
      const oldest = { ...ofUser, last: positionIn(database, cells) }
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
    const most = await deleteOldest(caller, ofUser, { left: 0, event })
    // Transactions that create a session of the user take turns with this one.
    const rows = [users.nameOf({ tenant, id: userId })]
    return most + (await database.write(caller, rows, (sql) => sql.write(deleteOfUser, ofUser, event)))
  }

  const revokeOldest = (caller: Caller, userId: string, left: number, first?: () => Promise<unknown>) => {
    const event = eventOfUser(caller, userId)
    return deleteOldest(caller, { tenant: caller.tenant, userId, ...all }, { left, event, first })
  }

  const revokeUpTo: SessionRevocations["revokeUpTo"] = (sql, caller, userId, last) =>
    sql.write(deleteOfUser, { tenant: caller.tenant, userId, ...all, last }, eventOfUser(caller, userId))

  // Concurrent calls may read a session, but only one statement can delete the row, and it deletes only what was read.
  const deleteAsRead: SessionRevocations["deleteAsRead"] = (caller, { key, cells: read, again, make }) =>
    database.write(caller, [sessions.nameOf(key)], async (sql) => {
      for (let cells: Cell[] | undefined = read; cells !== undefined; [cells] = await again(sql)) {
        const session = make(cells)
        if (session === null) return null
        try {
          await sql.change([
            deletionIfUnchanged({ ...key, cells }),
            ...eventOf(caller, "session.deleted", idsOf(session)),
          ])
          return session
        } catch (error) {
          // The row was changed or deleted between the two statements.
          if (!failsBy(error, "unmatched")) throw error
        }
      }
      return null
    })

  return {
    deleteAsRead,

    async revoke(caller, id, userId) {
      const { tenant } = caller
      const [read] = await database.reads(caller).read(byId, { tenant, id })
      if (read === undefined) return null
      return deleteAsRead(caller, {
        // Neither the id nor the token of a session ever changes, and neither is reused for another session.
        key: { tenant, tokenHash: Buffer.from(read.at(-1) as Buffer) },
        cells: read,
        again: (sql) => sql.read(byId, { tenant, id }),
        make(cells) {
          const session = listedSession(database, rules, cells)
          return userId === undefined || userId === session.userId ? session : null
        },
      })
    },

    revokeOfUser,
    revokeOldest,
    revokeUpTo,
    revokeMost: (caller, userId, first) => revokeOldest(caller, userId, 0, first),
    revokeRest: (sql, caller, userId) => revokeUpTo(sql, caller, userId, all.last),

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
