import type { Caller } from "../../store.js"
import type { Database, Reads } from "../database.js"
import { failsBy } from "../engine/statement-error.js"
import type { EventOf } from "../events/event-rows.js"
import type { Change } from "../query/statement.js"
import type { UserRow } from "../schema/entities.js"

/**
 * Users whose sign-up has only begun: Auth.js creates a user, then links the account, and a process that dies between the
 * two leaves a user whom nobody can sign in as. Until the moment in `provisional_until` such a user gives way to the next
 * one with the same address; see docs/decisions/0012-provisional-sign-ups.md.
 */
export interface ProvisionalUsers {
  /** What `provisional_until` is of a user who is created now. */
  until(user: UserRow, isProvisional: boolean | undefined): Date | undefined
  /** Whether the user, in whose row this moment stands, does not hold its address. */
  givesWay(caller: Caller, id: string, until: Date | undefined): Promise<boolean>
  /** Deletes the user with this id and inserts the other, in one transaction, if the former gives way. Returns whether. */
  replace(caller: Caller, id: string, row: UserRow, rows: readonly string[]): Promise<boolean>
  /** Ends the user's being provisional: a change that belongs to those that give it something. None where nobody ever is. */
  ended(caller: Caller, id: string): readonly Change[]
}

/** Nothing else is known of the user `u`: the condition that `u` has neither account nor session nor passkey. */
export const hasNothing = ["accounts", "sessions", "authenticators"]
  .map((table) => `NOT EXISTS (SELECT 1 FROM ${table} o WHERE o.tenant = u.tenant AND o.user_id = u.id)`)
  .join(" AND ")

/** @param ms how long they are; 0: nobody is provisional, whatever stands in the rows. */
export function provisionalUsers(
  database: Database,
  { clock, ms, eventOf }: { clock: () => number; ms: number; eventOf: EventOf },
): ProvisionalUsers {
  const { users } = database.tables
  const isOn = ms > 0
  const stillProvisional = users.statement(
    users
      .selectFrom("u")
      .select("u.id")
      .where(`${users.keyIs("u")} AND u.provisionalUntil > :provisionalUntil AND u.emailVerified IS NULL`)
      .andWhere(hasNothing),
    ...users.key,
    "provisionalUntil",
  )
  const cleared = users.cleared("provisionalUntil")
  const isProvisional = async (sql: Reads, key: Pick<UserRow, "tenant" | "id">) =>
    (await sql.read(stillProvisional, { ...key, provisionalUntil: new Date(clock()) })).length > 0

  return {
    until(user, isProvisional) {
      const canBe = isOn && isProvisional && user.emailKey !== undefined && user.emailVerified === undefined
      return canBe ? new Date(clock() + ms) : undefined
    },

    async givesWay(caller, id, until) {
      if (!isOn || until === undefined || until.getTime() <= clock()) return false
      return database.statements(caller, (sql) => isProvisional(sql, { tenant: caller.tenant, id }))
    },

    async replace(caller, id, row, rows) {
      if (!isOn) return false
      const key = { tenant: caller.tenant, id }
      try {
        return await database.transaction(caller, [users.nameOf(key), ...rows], async (sql) => {
          // Locked first and then looked at: whoever gives the user something needs a lock on this row, and has either
          // committed, and is seen, or waits and finds no user.
          const locked = await sql.read(users.byKeyForUpdate, key)
          if (locked.length > 0 && !(await isProvisional(sql, key))) return false
          await sql.write(users.delete, key, eventOf(caller, "user.deleted", { userId: id }))
          await sql.change([users.inserted(row), ...eventOf(caller, "user.created", { userId: row.id })])
          return true
        })
      } catch (error) {
        // Another one was as fast.
        if (failsBy(error, "duplicate")) return false
        throw error
      }
    },

    ended: ({ tenant }, id) => (isOn ? [cleared({ tenant, id })] : []),
  }
}
