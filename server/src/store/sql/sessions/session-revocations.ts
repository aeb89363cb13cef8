import type { Caller, SessionStore } from "../../store.js"
import type { KeptSessions, ListedSession } from "../../types.js"
import type { Database, Reads } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Change, type Statement, type Statements, statement } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import type { SessionRow } from "../schema/rows.js"
import { hashOfToken, idsOf } from "./session-keys.js"
import { listedColumns, listedSession } from "./session-lists.js"

/**
 * The maximum number of a user's sessions that one statement deletes. It keeps the statement within its timeout and the
 * transaction within the limits of clusters.
 */
const sessionsAtOnce = 1000

/**
 * The number of users whose sessions one statement deletes. With more keys MySQL would scan a small table as a whole.
 */
const usersAtOnce = 20

/** A call about several users stops after it has deleted this number of sessions. */
const enoughSessions = 1000

interface OfUsers {
  tenant: string
  userIds: readonly string[]
}

/**
 * A selection of a user's sessions: all, or those before a position in the order of creation; without the sessions to
 * keep.
 */
interface OfUser {
  tenant: string
  userId: string
  keptId?: string | undefined
  keptHash?: Buffer | undefined
  before?: { created: Date; id: string } | undefined
}

/** Creates the revocations of sessions by callers without their tokens. */
export function sessionRevocations(
  database: Database,
  eventOf: EventOf,
): Pick<SessionStore, "revoke" | "revokeOfUser" | "revokeOfUsers"> {
  const { sessions, users } = database.tables
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(`${listedColumns(database)}, s.tokenHash`)
      .where("s.tenant = :tenant AND s.id = :id"),
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
      // As in session-lists.ts: for a range PostgreSQL expects more rows, and reads them in index order.
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
  const several = severalUsers()
  /** Returns a row if the users together have more sessions than one statement deletes. */
  const moreThanMany = statement<SessionRow, OfUsers>(
    sessions.selectFrom("s").select("s.userId").where(several.are("s.")).offset(sessionsAtOnce).limit(1),
    several.parameters,
  )
  const deleteOfUsers = statement<SessionRow, OfUsers>(sessions.deleteFrom().where(several.are("")), several.parameters)

  /** A statement for each combination of conditions. */
  const deletesOfUser = new Map<string, Statement<OfUser>>()
  for (const keptId of [undefined, ""])
    for (const keptHash of [undefined, Buffer.alloc(0)])
      for (const before of [undefined, { created: new Date(0), id: "" }]) {
        const form = { tenant: "", userId: "", keptId, keptHash, before }
        deletesOfUser.set(formOf(form), deleteOfUser(form))
      }

  function deleteOfUser({ keptId, keptHash, before }: OfUser): Statement<OfUser> {
    const parameters: Record<string, (values: OfUser) => Cell> = {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      userId: ({ userId }) => sessions.cell("userId", userId),
    }
    const conditions = ["tenant = :tenant AND userId = :userId"]
    if (keptId !== undefined) {
      conditions.push("id <> :keptId")
      parameters.keptId = ({ keptId }) => sessions.cell("id", keptId)
    }
    if (keptHash !== undefined) {
      conditions.push("tokenHash <> :keptHash")
      parameters.keptHash = ({ keptHash }) => sessions.cell("tokenHash", keptHash as Buffer)
    }
    if (before !== undefined) {
      // All engines find the place in the index by the first condition. The second one makes it exact.
      conditions.push("created <= :created", "(created < :created OR (created = :created AND id < :id))")
      parameters.created = ({ before }) => sessions.cell("created", before?.created)
      parameters.id = ({ before }) => sessions.cell("id", before?.id)
    }
    return statement(sessions.deleteFrom().where(conditions.join(" AND ")), parameters)
  }

  function severalUsers() {
    const parameters: Record<string, (values: OfUsers) => Cell> = {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
    }
    const list = Array.from({ length: usersAtOnce }, (_, n) => {
      // The last user is repeated for missing ones.
      parameters[`userId${n}`] = ({ userIds }) =>
        sessions.cell("userId", userIds[Math.min(n, userIds.length - 1)] as string)
      return `:userId${n}`
    }).join(", ")
    return { parameters, are: (alias: string) => `${alias}tenant = :tenant AND ${alias}userId IN (${list})` }
  }

  /** Deletes sessions in batches, the oldest first. Returns their number. */
  async function deleteAll(sql: Statements, sessionsOfUser: OfUser, event: readonly Change[]): Promise<number> {
    const write = (which: OfUser) => sql.write(deletesOfUser.get(formOf(which)) as Statement<OfUser>, which, event)
    let revoked = 0
    for (;;) {
      const [cells] = await sql.read(afterMany, sessionsOfUser)
      if (cells === undefined) return revoked + (await write(sessionsOfUser))
      const [created, id] = cells as [Cell, Cell]
      const before = { created: sessions.value("created", created) as Date, id: sessions.value("id", id) as string }
      const deleted = await write({ ...sessionsOfUser, before })
      revoked += deleted
      // Another call has deleted them.
      if (deleted === 0) return revoked + (await write(sessionsOfUser))
    }
  }

  const revokeOfUser: SessionStore["revokeOfUser"] = (caller, userId, { id, sessionToken }: KeptSessions) => {
    const { tenant } = caller
    const keptHash = sessionToken === undefined ? undefined : hashOfToken(sessionToken)
    // Transactions that create a session of the user take turns with this one.
    return database.writes(
      caller,
      [users.nameOf({ tenant, id: userId })],
      (sql) => deleteAll(sql, { tenant, userId, keptId: id, keptHash }, eventOfUser(caller, userId, id)),
      { isLong: true },
    )
  }

  const deleteAllOfUser = deletesOfUser.get(formOf({ tenant: "", userId: "" })) as Statement<OfUser>

  const eventOfUser = (caller: Caller, userId: string, sessionId?: string) =>
    eventOf(caller, "user.sessions_revoked", { userId, sessionId })

  /** Returns the number of deleted sessions; undefined, with none deleted, if the users together have too many. */
  function revokeOfSome(caller: Caller, userIds: readonly string[], rows: readonly string[]) {
    const { tenant } = caller
    const areTooMany = async (sql: Reads) => (await sql.read(moreThanMany, { tenant, userIds })).length > 0
    if (eventOfUser(caller, "").length === 0) {
      return database.writes(
        caller,
        rows,
        async (sql) => ((await areTooMany(sql)) ? undefined : sql.write(deleteOfUsers, { tenant, userIds })),
        { isLong: true },
      )
    }
    // Each user that had a session gets an event.
    return database.transaction(
      caller,
      rows,
      async (sql) => {
        if (await areTooMany(sql)) return undefined
        let revoked = 0
        for (const userId of userIds) {
          revoked += await sql.write(deleteAllOfUser, { tenant, userId }, eventOfUser(caller, userId))
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
          const session = listedSession(database, cells)
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

    async revokeOfUsers(caller, userIds) {
      const { tenant, transaction } = caller
      const namesOf = (ids: readonly string[]) => [...new Set(ids)].map((id) => users.nameOf({ tenant, id }))
      let [processed, revoked] = [0, 0]
      while (processed < userIds.length && revoked < enoughSessions) {
        const some = userIds.slice(processed, processed + usersAtOnce)
        // A unit that commits together must take all of its turns before it writes.
        const deleted = await revokeOfSome(caller, some, namesOf(transaction === undefined ? some : userIds))
        // Too many sessions together: process one user alone.
        revoked += deleted ?? (await revokeOfUser(caller, some[0] as string, {}))
        processed += deleted === undefined ? 1 : some.length
      }
      return { processed, revoked }
    },
  }
}

/** Returns a text that is the same for selections with the same statement. */
function formOf({ keptId, keptHash, before }: OfUser): string {
  return [keptId, keptHash, before].map((value) => value !== undefined).join()
}
