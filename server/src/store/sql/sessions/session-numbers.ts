import { StoreError } from "../../../errors/store-error.js"
import type { Caller } from "../../store.js"
import type { SessionPolicy } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Statement, type Statements, statement } from "../query/statement.js"
import type { SessionRow } from "../schema/rows.js"
import { type LivingSince, sessionRules } from "./session-rules.js"

/** The most sessions that one statement deletes, as in session-revocations.ts. */
const sessionsAtOnce = 1000

interface Living extends LivingSince {
  tenant: string
  userId: string
}

interface Position {
  created: Date
  id: string
}

/**
 * Creates the function that makes room for one more session of a user: it deletes the oldest ones, or throws
 * SESSION_LIMIT_REACHED. It locks the user's row until the transaction ends, so of concurrent transactions each counts the
 * sessions of the others.
 */
export function sessionNumbers(database: Database, { clock, eventOf }: { clock: () => number; eventOf: EventOf }) {
  const { sessions, users } = database.tables
  const rules = sessionRules(database)
  const key = {
    tenant: ({ tenant }: Pick<Living, "tenant">) => sessions.cell("tenant", tenant),
    userId: ({ userId }: Pick<Living, "userId">) => sessions.cell("userId", userId),
  }
  // As in session-revocations.ts: for a range PostgreSQL expects more rows, and reads them in index order.
  const isOfUser = database.engine === "postgres" ? "s.userId >= :userId AND s.userId <= :userId" : "s.userId = :userId"
  const livingAt = (place: number): Statement<Living> =>
    statement<SessionRow, Living>(
      sessions
        .selectFrom("s")
        .select("s.created, s.id")
        .where(`s.tenant = :tenant AND ${isOfUser} AND CASE WHEN ${rules.living} THEN 1 ELSE 0 END = 1`)
        .orderBy("s.userId", "DESC")
        .addOrderBy("s.created", "DESC")
        .addOrderBy("s.id", "DESC")
        .offset(place)
        .limit(1),
      { ...key, ...rules.parameters },
    )
  const livings = new Map<number, Statement<Living>>()
  const atMany = sessions.statement(
    sessions
      .selectFrom("s")
      .select("s.created, s.id")
      .where(`s.tenant = :tenant AND ${isOfUser}`)
      .orderBy("s.userId")
      .addOrderBy("s.created")
      .addOrderBy("s.id")
      .offset(sessionsAtOnce - 1)
      .limit(1),
    "tenant",
    "userId",
  )
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

  return async (sql: Statements, caller: Caller, userId: string, policy: SessionPolicy): Promise<void> => {
    const { maxSessions, atLimit } = policy
    if (maxSessions === undefined) return
    const { tenant } = caller
    await sql.read(users.byKeyForUpdate, { tenant, id: userId })
    const living = livings.get(maxSessions) ?? livingAt(maxSessions - 1)
    livings.set(maxSessions, living)
    const [cells] = await sql.read(living, { tenant, userId, ...rules.since(policy, clock()) })
    if (cells === undefined) return
    if (atLimit === "reject_new")
      throw new StoreError("SESSION_LIMIT_REACHED", "the user has as many sessions as the policy allows")
    // This one and all older ones.
    const last = position(cells)
    const event = eventOf(caller, "user.sessions_revoked", { userId })
    for (;;) {
      const [many] = await sql.read(atMany, { tenant, userId })
      const end = many !== undefined && isEarlier(position(many), last) ? position(many) : last
      await sql.write(deleteUpTo, { tenant, userId, ...end }, end === last ? event : [])
      if (end === last) return
    }
  }
}
