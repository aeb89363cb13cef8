import type { Caller, SessionStore } from "../../store.js"
import type { KeptSessions, ListedSession } from "../../types.js"
import type { Database, Reads } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Change, type Statement, type Statements, statement } from "../query/statement.js"
import type { SessionRow } from "../schema/entities.js"
import { hashOfToken, idsOf } from "./session-keys.js"
import { listedColumns, listedSession } from "./session-lists.js"

/** How many sessions of a user one statement deletes: it ends in time, and clusters take it, however many the user has. */
const sessionsAtOnce = 1000

/** The sessions of how many users one statement deletes. With more of them MySQL would rather read a small table whole. */
const usersAtOnce = 20

/** A call about many users goes on to the next ones until it has deleted so many sessions. */
const enoughSessions = 1000

interface OfUsers {
  tenant: string
  userIds: readonly string[]
}

/** Sessions of a user: those that are older than a place in the order of their creation, or all; but for those to keep. */
interface OfUser {
  tenant: string
  userId: string
  keptId?: string | undefined
  keptHash?: Buffer | undefined
  before?: { created: Date; id: string | undefined } | undefined
}

/** Ends sessions for who does not have their tokens. */
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
  const deleteIfOfUser = sessions.statement(
    sessions.deleteFrom().where(`${sessions.keyIs()} AND userId = :userId`),
    ...sessions.key,
    "userId",
  )
  /** The one before which so many of a user's are, the oldest first; the index has what is read. */
  const afterMany = sessions.statement(
    sessions
      .selectFrom("s")
      .select("s.created, s.id")
      // As in session-lists.ts: PostgreSQL expects more of a range, and reads it in its order.
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
  /** Finds something if users have more sessions than one statement deletes. */
  const moreThanMany = statement<SessionRow, OfUsers>(
    sessions.selectFrom("s").select("s.userId").where(several.are("s.")).offset(sessionsAtOnce).limit(1),
    several.parameters,
  )
  const deleteOfUsers = statement<SessionRow, OfUsers>(sessions.deleteFrom().where(several.are("")), several.parameters)

  /** One statement for each form of what it is asked for. */
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
      conditions.push("(id IS NULL OR id <> :keptId)")
      parameters.keptId = ({ keptId }) => sessions.cell("id", keptId)
    }
    if (keptHash !== undefined) {
      conditions.push("tokenHash <> :keptHash")
      parameters.keptHash = ({ keptHash }) => sessions.cell("tokenHash", keptHash as Buffer)
    }
    if (before !== undefined) {
      // By the first, which the second makes exact, each of the engines finds the place in the index.
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
      // The last user stands for those that lack.
      parameters[`userId${n}`] = ({ userIds }) =>
        sessions.cell("userId", userIds[Math.min(n, userIds.length - 1)] as string)
      return `:userId${n}`
    }).join(", ")
    return { parameters, are: (alias: string) => `${alias}tenant = :tenant AND ${alias}userId IN (${list})` }
  }

  /** Deletes some at a time, the oldest first. Returns how many. */
  async function deleteAll(sql: Statements, sessionsOfUser: OfUser, event: readonly Change[]): Promise<number> {
    const write = (which: OfUser) => sql.write(deletesOfUser.get(formOf(which)) as Statement<OfUser>, which, event)
    let revoked = 0
    for (;;) {
      const [cells] = await sql.read(afterMany, sessionsOfUser)
      if (cells === undefined) return revoked + (await write(sessionsOfUser))
      const [created, id] = cells as [Cell, Cell]
      const before = { created: sessions.value("created", created) as Date, id: sessions.value("id", id) }
      const deleted = await write({ ...sessionsOfUser, before })
      revoked += deleted
      // Those without an id, of a version that did not know it, have no order.
      if (deleted === 0) return revoked + (await write(sessionsOfUser))
    }
  }

  const revokeOfUser: SessionStore["revokeOfUser"] = (caller, userId, { id, sessionToken }: KeptSessions) => {
    const { tenant } = caller
    const keptHash = sessionToken === undefined ? undefined : hashOfToken(sessionToken)
    // Whoever creates a session of the user takes turns with this.
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

  /** Returns how many; undefined, and deletes none, if they have too many together. */
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
    // Each user who had a session has an event.
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
      const [cells] = await database.statements(caller, (sql) => sql.read(byId, { tenant, id }))
      if (cells === undefined) return null
      const session = listedSession(database, cells)
      if (userId !== undefined && userId !== session.userId) return null
      const key = { tenant, tokenHash: Buffer.from(cells.at(-1) as Buffer), userId: session.userId }
      const event = eventOf(caller, "session.deleted", idsOf(session))
      // The handle never changes, and no other session gets it; but the session may have become that of another user.
      const statement = userId === undefined ? sessions.delete : deleteIfOfUser
      const deleted = await database.writes(caller, [sessions.nameOf(key)], (sql) => sql.write(statement, key, event))
      return deleted === 0 ? null : session
    },

    revokeOfUser,

    async revokeOfUsers(caller, userIds) {
      const { tenant, unit } = caller
      const namesOf = (ids: readonly string[]) => [...new Set(ids)].map((id) => users.nameOf({ tenant, id }))
      let [processed, revoked] = [0, 0]
      while (processed < userIds.length && revoked < enoughSessions) {
        const some = userIds.slice(processed, processed + usersAtOnce)
        // What commits together has all of its turns before it writes.
        const deleted = await revokeOfSome(caller, some, namesOf(unit === undefined ? some : userIds))
        // They have too many together: one by one.
        revoked += deleted ?? (await revokeOfUser(caller, some[0] as string, {}))
        processed += deleted === undefined ? 1 : some.length
      }
      return { processed, revoked }
    },
  }
}

/** The same for what the same statement deletes. */
function formOf({ keptId, keptHash, before }: OfUser): string {
  return [keptId, keptHash, before].map((value) => value !== undefined).join()
}
