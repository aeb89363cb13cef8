import type { Caller, SessionStore } from "../../store.js"
import type { KeptSessions, ListedSession } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Change, itemParameters, type Statements, statement } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { ofPresentUser } from "../schema/deleted-users.js"
import type { SessionRow } from "../schema/rows.js"
import { alone } from "../transaction/alone.js"
import type { UserRevocations } from "../users/user-revocations.js"
import { hashOfToken, idsOf } from "./session-keys.js"
import { listedColumns, listedSession } from "./session-lists.js"
import { sessionRules } from "./session-rules.js"

/**
 * The maximum number of a user's sessions that one statement deletes. It keeps the statement within its timeout and the
 * transaction within the limits of clusters.
 */
const sessionsAtOnce = 1000

/** The number of users whose sessions one statement counts. With more keys MySQL would scan a small table as a whole. */
const usersAtOnce = 20

/** A call about several users stops after it has deleted this number of sessions. */
const enoughSessions = 1000

interface OfUsers {
  tenant: string
  userIds: readonly string[]
}

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
  before: { created: new Date("9999-12-31T23:59:59.999Z"), id: "" },
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
  const several = itemParameters(usersAtOnce, ({ userIds }: OfUsers) => userIds, {
    userId: (id) => sessions.cell("userId", id),
  })
  /** Returns a row if the users together have more sessions than one statement deletes. */
  const moreThanMany = statement<SessionRow, OfUsers>(
    sessions
      .selectFrom("s")
      .select("s.userId")
      .where(`s.tenant = :tenant AND s.userId IN (${several.names.join(", ")})`)
      .offset(sessionsAtOnce)
      .limit(1),
    { ...several.parameters, tenant: ({ tenant }) => sessions.cell("tenant", tenant) },
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
    const apart = alone(caller)
    const rows = [users.nameOf({ tenant: ofUser.tenant, id: ofUser.userId })]
    let revoked = 0
    for (;;) {
      const [cells] = await database.reads(apart).read(afterMany, ofUser)
      if (cells === undefined) return revoked
      if (revoked === 0) await first?.()
      const [created, id] = cells as [Cell, Cell]
      const before = { created: sessions.value("created", created) as Date, id: sessions.value("id", id) as string }
      const oldest = { ...ofUser, before }
      const deleted = await database.writes(apart, rows, (sql) => sql.write(deleteOfUser, oldest, event), {
        isLong: true,
      })
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
    return (await deleteMost(caller, ofUser, event)) + (await deleteRest(caller, ofUser, event))
  }

  /** Deletes sessions by one statement. */
  function deleteRest(caller: Caller, ofUser: OfUser, event: readonly Change[]): Promise<number> {
    // Transactions that create a session of the user take turns with this one.
    const rows = [users.nameOf({ tenant: ofUser.tenant, id: ofUser.userId })]
    return database.writes(caller, rows, (sql) => sql.write(deleteOfUser, ofUser, event), { isLong: true })
  }

  const eventOfUser = (caller: Caller, userId: string, sessionId?: string) =>
    eventOf(caller, "user.sessions_revoked", { userId, sessionId })

  /** Returns the number of deleted sessions; undefined, with none deleted, if the users together have too many. */
  function revokeOfSome(caller: Caller, userIds: readonly string[], rows: readonly string[]) {
    const { tenant } = caller
    // Each user that had a session gets an event.
    return database.transaction(
      caller,
      rows,
      async (sql) => {
        if ((await sql.read(moreThanMany, { tenant, userIds })).length > 0) return undefined
        let revoked = 0
        for (const userId of userIds) {
          revoked += await sql.write(deleteOfUser, { tenant, userId, ...all }, eventOfUser(caller, userId))
        }
        return revoked
      },
      { isLong: true },
    )
  }

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
      return database.writes(caller, [sessions.nameOf(key)], deleteIt, { readsBefore: true })
    },

    revokeOfUser,

    revokeMost: (caller, userId, first) =>
      deleteMost(caller, { tenant: caller.tenant, userId, ...all }, eventOfUser(caller, userId), first),

    revokeRest: (sql, caller, userId) =>
      sql.write(deleteOfUser, { tenant: caller.tenant, userId, ...all }, eventOfUser(caller, userId)),

    async revokeOfUsers(caller, userIds) {
      const { tenant, transaction } = caller
      const namesOf = (ids: readonly string[]) => [...new Set(ids)].map((id) => users.nameOf({ tenant, id }))
      let [processed, revoked] = [0, 0]
      if (transaction !== undefined) {
        // The batches come before the turns of the transaction, which has those of all users until it is committed.
        const first = { tenant, userIds: userIds.slice(0, usersAtOnce) }
        if ((await database.reads(caller).read(moreThanMany, first)).length > 0)
          return { processed: 1, revoked: await revokeOfUser(caller, userIds[0] as string, {}) }
      }
      while (processed < userIds.length && revoked < enoughSessions) {
        const some = userIds.slice(processed, processed + usersAtOnce)
        // A unit that commits together must take all of its turns before it writes.
        const deleted = await revokeOfSome(caller, some, namesOf(transaction === undefined ? some : userIds))
        if (deleted !== undefined) {
          revoked += deleted
          processed += some.length
          continue
        }
        // Too many sessions together: process one user alone. In a transaction only if they were created since it began.
        if (transaction !== undefined && processed > 0) break
        const userId = some[0] as string
        const ofUser = { tenant, userId, ...all }
        revoked +=
          transaction === undefined
            ? await revokeOfUser(caller, userId, {})
            : await deleteRest(caller, ofUser, eventOfUser(caller, userId))
        processed++
      }
      return { processed, revoked }
    },
  }
}
