import { StoreError } from "../../../errors/store-error.js"
import { oncePer } from "../../../util/once-per.js"
import type { Caller } from "../../store.js"
import type { SessionPolicy } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import type { Statements } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import type { ChangeOf } from "../schema/changes.js"
import type { SessionRow, UserRow } from "../schema/rows.js"
import { againIfUnprepared, Unprepared } from "../transaction/unprepared.js"
import { userTurns } from "../turns.js"
import { policyIn } from "./session-policies.js"
import { positionIn, type SessionRevocations, sessionAt } from "./session-revocations.js"
import { type LivingSince, sessionRules } from "./session-rules.js"

/** The number of a user's sessions that are left when there were too many to be counted. */
const leftByPruning = 1000

/**
 * The most sessions of a user, ended ones too, among which one statement counts. Pruning leaves half of them, so that sign-ins at
 * the same time do not exceed it.
 */
const countedAtOnce = 2 * leftByPruning

export interface SessionInserts {
  /**
   * Inserts a session as the policy allows, and returns its expiry. Throws SESSION_LIMIT_REACHED, and StatementError
   * "no-parent" and "duplicate".
   *
   * @param userName the lock name of the user.
   */
  insert(caller: Caller, row: SessionRow & { created: Date }, userName: string): Promise<Date>
  /**
   * Makes room for one more session of a user in a transaction: deletes the oldest ones, or throws SESSION_LIMIT_REACHED. Returns the
   * policy. If there is a limit, it locks the user's row until the transaction ends, so of concurrent transactions each counts the
   * sessions of the others if it also makes the changes of the user's turns. Throws Unprepared if the user has too many sessions to be
   * counted by one statement.
   */
  makeRoom(sql: Statements, caller: Caller, userId: string): Promise<SessionPolicy>
}

/**
 * Creates the inserts of sessions, which keep the number of a user's sessions within the policy. The first try is an insert that fails
 * if the tenant has a policy for new sessions, so a tenant without one needs no further statement. Then the policy is read in the
 * transaction of the insert.
 */
export function sessionInserts(
  database: Database,
  options: {
    clock: () => number
    seenUser: ChangeOf<Pick<UserRow, "tenant" | "id">>
    eventOf: EventOf
    revocations: SessionRevocations
  },
): SessionInserts {
  const { clock, seenUser, eventOf, revocations } = options
  const { sessions, users, sessionPolicies: policies } = database.tables
  const turns = userTurns(database)
  const rules = sessionRules(database)
  const unlimited = sessions.insertionIf(
    "insert unlimited",
    `NOT EXISTS (SELECT 1 FROM ${policies.name} p WHERE p.tenant = o.tenant AND p.provider = ''` +
      " AND (p.max_age IS NOT NULL OR p.max_sessions IS NOT NULL))",
  )
  const tooMany = sessionAt(database, { backwards: true, offset: countedAtOnce })
  const livingAt = oncePer((offset: number) => {
    const where = `CASE WHEN ${rules.living} THEN 1 ELSE 0 END = 1`
    return sessionAt<LivingSince>(database, { backwards: true, offset, where, parameters: rules.parameters })
  })
  /** The tenants that had a policy for new sessions when it was last read, only to leave out the first try. There are few tenants. */
  const limited = new Set<string>()

  const makeRoom: SessionInserts["makeRoom"] = async (sql, caller, userId) => {
    const { tenant } = caller
    const policy = policyIn(policies.first(await sql.read(policies.byKey, { tenant, provider: "" })))
    const { maxAge, maxSessions, atLimit } = policy
    if (maxAge === undefined && maxSessions === undefined) limited.delete(tenant)
    else limited.add(tenant)
    if (maxSessions === undefined) return policy
    const of = { tenant, userId }
    await sql.read(users.byKeyForUpdate, { tenant, id: userId })
    if ((await sql.read(tooMany, { of })).length > 0) {
      const prune = () => revocations.revokeOldest(caller, userId, leftByPruning)
      throw new Unprepared("the user has too many sessions to count them at once", prune)
    }
    const [last] = await sql.read(livingAt(maxSessions - 1), { of, ...rules.since(policy, clock()) })
    if (last === undefined) return policy
    if (atLimit === "reject_new")
      throw new StoreError("SESSION_LIMIT_REACHED", "the user has as many sessions as the policy allows")
    await revocations.revokeUpTo(sql, caller, userId, positionIn(database, last))
    return policy
  }

  const insert: SessionInserts["insert"] = async (caller, row, userName) => {
    const { userId, id: sessionId } = row
    const user = { tenant: caller.tenant, id: userId }
    // Of this transaction, and one that disables the user on another member of a cluster, one fails.
    const ofUser = [...turns.changes(user), seenUser(user)]
    const event = eventOf(caller, "session.created", { userId, sessionId })
    if (!limited.has(caller.tenant)) {
      try {
        await database.write(caller, [userName], (sql) => sql.change([...ofUser, unlimited(row), ...event]))
        return row.expires
      } catch (error) {
        // There is a policy, or no such user.
        if (!failsBy(error, "no-parent")) throw error
      }
    }
    return database.write(caller, [userName], async (sql) => {
      const { maxAge } = await makeRoom(sql, caller, userId)
      const latest = row.created.getTime() + (maxAge ?? Number.POSITIVE_INFINITY)
      const expires = row.expires.getTime() > latest ? new Date(latest) : row.expires
      await sql.change([...ofUser, sessions.insertion({ ...row, expires }), ...event])
      return expires
    })
  }

  return {
    makeRoom,
    insert: (...given) => againIfUnprepared(given[0], () => insert(...given)),
  }
}
