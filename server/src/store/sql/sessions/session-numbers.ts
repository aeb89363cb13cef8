import { StoreError } from "../../../errors/store-error.js"
import { oncePer } from "../../../util/once-per.js"
import type { Caller } from "../../store.js"
import type { SessionPolicy } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Statements, statement } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"
import { Unprepared } from "../transaction/unprepared.js"
import { sessionsAtOnce } from "./session-revocations.js"
import { type LivingSince, sessionRules } from "./session-rules.js"

/** The number of sessions that `prune` leaves. */
const leftByPruning = 1000

/**
 * The most sessions of a user, ended ones too, among which one statement counts. `prune` leaves half of them, so that sign-ins
 * at the same time do not exceed it.
 */
const countedAtOnce = 2 * leftByPruning

interface Living extends LivingSince {
  tenant: string
  userId: string
}

interface Position {
  created: Date
  id: string
}

export interface SessionNumbers {
  /**
   * Deletes the oldest sessions of a user, ended ones too, until 1,000 are left. The batches are committed one by one, outside of
   * the caller's transaction, which must not have the turn of the user yet.
   */
  prune(caller: Caller, userId: string): Promise<void>
  /**
   * Makes room for one more session of a user in a transaction: deletes the oldest ones, or throws SESSION_LIMIT_REACHED. It locks
   * the user's row until the transaction ends, so of concurrent transactions each counts the sessions of the others. Throws
   * Unprepared if the user has too many sessions to be counted by one statement: `prune` has to come first.
   */
  makeRoom(sql: Statements, caller: Caller, userId: string, policy: SessionPolicy): Promise<void>
}

/** Creates what keeps the number of a user's sessions within the session policy. */
export function sessionNumbers(
  database: Database,
  { clock, eventOf }: { clock: () => number; eventOf: EventOf },
): SessionNumbers {
  const { sessions, users } = database.tables
  const rules = sessionRules(database)
  // As in session-revocations.ts: for a range PostgreSQL expects more rows, and reads them in index order.
  const isOfUser = database.engine === "postgres" ? "s.userId >= :userId AND s.userId <= :userId" : "s.userId = :userId"
  const ordered = (direction: "ASC" | "DESC", place: number, condition = "") =>
    sessions
      .selectFrom("s")
      .select("s.created, s.id")
      .where(`s.tenant = :tenant AND ${isOfUser}${condition}`)
      .orderBy("s.userId", direction)
      .addOrderBy("s.created", direction)
      .addOrderBy("s.id", direction)
      .offset(place)
      .limit(1)
  const oldestOfMany = sessions.statement(ordered("ASC", sessionsAtOnce - 1), "tenant", "userId")
  const newestToPrune = sessions.statement(ordered("DESC", leftByPruning), "tenant", "userId")
  const tooMany = sessions.statement(ordered("DESC", countedAtOnce), "tenant", "userId")
  const livingAt = oncePer((place: number) => {
    const isLiving = ` AND CASE WHEN ${rules.living} THEN 1 ELSE 0 END = 1`
    return statement<SessionRow, Living>(ordered("DESC", place, isLiving), {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      userId: ({ userId }) => sessions.cell("userId", userId),
      ...rules.parameters,
    })
  })
  const deleteUpTo = sessions.statement(
    sessions
      .deleteFrom()
      .where("tenant = :tenant AND userId = :userId AND created <= :created")
      .andWhere("(created < :created OR (created = :created AND id <= :id))"),
    "tenant",
    "userId",
    "created",
    "id",
  )
  const position = ([created, id]: Cell[]): Position => ({
    created: sessions.value("created", created as Cell) as Date,
    id: sessions.value("id", id as Cell) as string,
  })
  const isEarlier = (one: Position, other: Position) =>
    one.created < other.created || (one.created.getTime() === other.created.getTime() && one.id < other.id)
  const eventOfUser = (caller: Caller, userId: string) => eventOf(caller, "user.sessions_revoked", { userId })

  return {
    async prune(caller, userId) {
      const ofUser = { tenant: caller.tenant, userId }
      const separate = { ...caller, transaction: undefined }
      const turn = [users.nameOf({ tenant: caller.tenant, id: userId })]
      for (;;) {
        const [newest] = await database.reads(separate).read(newestToPrune, ofUser)
        if (newest === undefined) return
        const [many] = await database.reads(separate).read(oldestOfMany, ofUser)
        if (many === undefined) return
        const end = isEarlier(position(many), position(newest)) ? position(many) : position(newest)
        const write = (sql: Statements) => sql.write(deleteUpTo, { ...ofUser, ...end }, eventOfUser(caller, userId))
        await database.write(separate, turn, write)
      }
    },

    async makeRoom(sql, caller, userId, policy) {
      const { maxSessions, atLimit } = policy
      if (maxSessions === undefined) return
      const ofUser = { tenant: caller.tenant, userId }
      await sql.read(users.byKeyForUpdate, { tenant: caller.tenant, id: userId })
      if ((await sql.read(tooMany, ofUser)).length > 0)
        throw new Unprepared("the user has too many sessions to count them at once")
      const [last] = await sql.read(livingAt(maxSessions - 1), { ...ofUser, ...rules.since(policy, clock()) })
      if (last === undefined) return
      if (atLimit === "reject_new")
        throw new StoreError("SESSION_LIMIT_REACHED", "the user has as many sessions as the policy allows")
      // This one and all older ones.
      await sql.write(deleteUpTo, { ...ofUser, ...position(last) }, eventOfUser(caller, userId))
    },
  }
}
