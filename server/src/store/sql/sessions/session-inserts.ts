import type { Caller } from "../../store.js"
import type { SessionPolicy } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import type { Statements } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import type { ChangeOf } from "../schema/changes.js"
import type { SessionRow, UserRow } from "../schema/rows.js"
import { againIfUnprepared } from "../transaction/unprepared.js"
import { sessionNumbers } from "./session-numbers.js"
import { policyIn } from "./session-policies.js"

export interface SessionInserts {
  /**
   * Inserts a session as the policy allows, and returns its expiry. Throws SESSION_LIMIT_REACHED, and StatementError
   * "no-parent" and "duplicate".
   *
   * @param userName the lock name of the user.
   */
  insert(caller: Caller, row: SessionRow & { created: Date }, userName: string): Promise<Date>
  /**
   * Prunes the sessions of a user if the tenant is known to limit them, then runs a transaction with `makeRoom`. If that has met too
   * many sessions, the policy is known now, so both run once more; with a transaction of the caller all of its work does.
   */
  pruned<T>(caller: Caller, userId: string, work: () => Promise<T>): Promise<T>
  /** Makes room for a session that is given to this user; see SessionNumbers. */
  makeRoom(sql: Statements, caller: Caller, userId: string): Promise<SessionPolicy>
}

/**
 * Creates the inserts of sessions. The first try is an insert that fails if the tenant has a policy for new sessions, so a
 * tenant without one needs no further statement. Then the policy is read in the transaction of the insert. Policies
 * are remembered, only to leave out the first try and to prune before.
 */
export function sessionInserts(
  database: Database,
  {
    clock,
    seenUser,
    eventOf,
  }: { clock: () => number; seenUser: ChangeOf<Pick<UserRow, "tenant" | "id">>; eventOf: EventOf },
): SessionInserts {
  const { sessions, sessionPolicies: policies } = database.tables
  const unlimited = sessions.insertedIf(
    "insert unlimited",
    `NOT EXISTS (SELECT 1 FROM ${policies.name} p WHERE p.tenant = o.tenant AND p.provider = ''` +
      " AND (p.max_age IS NOT NULL OR p.max_sessions IS NOT NULL))",
  )
  const numbers = sessionNumbers(database, { clock, eventOf })
  /** The policies of the tenants that had one for new sessions when it was last read. There are few tenants. */
  const limited = new Map<string, SessionPolicy>()

  const makeRoom: SessionInserts["makeRoom"] = async (sql, caller, userId) => {
    const { tenant } = caller
    const policy = policyIn(policies.first(await sql.read(policies.byKey, { tenant, provider: "" })))
    if (policy.maxAge === undefined && policy.maxSessions === undefined) limited.delete(tenant)
    else limited.set(tenant, policy)
    await numbers.makeRoom(sql, caller, userId, policy)
    return policy
  }

  const pruned: SessionInserts["pruned"] = (caller, userId, work) => {
    const run = async () => {
      if (limited.get(caller.tenant)?.maxSessions !== undefined) await numbers.prune(caller, userId)
      return work()
    }
    return caller.transaction === undefined ? againIfUnprepared(run) : run()
  }

  const insert: SessionInserts["insert"] = async (caller, row, userName) => {
    const { userId, id: sessionId } = row
    const event = eventOf(caller, "session.created", { userId, sessionId })
    if (!limited.has(caller.tenant)) {
      try {
        await database.write(caller, [userName], (sql) =>
          sql.change([seenUser({ tenant: caller.tenant, id: userId }), unlimited(row), ...event]),
        )
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
      await sql.change([
        seenUser({ tenant: caller.tenant, id: userId }),
        sessions.inserted({ ...row, expires }),
        ...event,
      ])
      return expires
    })
  }

  return {
    pruned,
    makeRoom,
    insert: (caller, row, userName) => pruned(caller, row.userId, () => insert(caller, row, userName)),
  }
}
