import type { Caller } from "../../store.js"
import type { Database, Reads } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import type { Change } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { tenantNotFound } from "../schema/present-tenants.js"
import type { UserRow } from "../schema/rows.js"

/**
 * Users with an incomplete sign-up. Auth.js creates a user, then links the account, and a process that ends between the
 * two leaves a user that has no way to sign in. Until the time in `provisional_until` the next user with the same
 * address replaces such a user; see docs/decisions/0012-provisional-sign-ups.md.
 */
export interface ProvisionalUsers {
  /** Returns the `provisional_until` of a user that is created now; undefined if the user is not provisional. */
  until(user: UserRow, isProvisional: boolean | undefined): Date | undefined
  /** Returns whether a user with this `provisional_until` may be provisional. */
  mayBe(until: Date | undefined): boolean
  /** Returns whether the user exists and does not hold its address, because it is provisional. */
  isReplaceable(caller: Caller, id: string): Promise<boolean>
  /**
   * Deletes the user with this id and inserts `row` in one transaction, if the former is provisional. Returns whether
   * it did.
   */
  replace(caller: Caller, id: string, row: UserRow, rows: readonly string[]): Promise<boolean>
  /**
   * Returns the change that confirms a provisional user, for the transaction that gives it something. Empty if
   * the feature is off.
   */
  confirmation(caller: Caller, id: string): readonly Change[]
}

/** The condition that the user `u` has no account, session or passkey. */
export const hasNothing = ["accounts", "sessions", "authenticators"]
  .map((table) => `NOT EXISTS (SELECT 1 FROM ${table} o WHERE o.tenant = u.tenant AND o.user_id = u.id)`)
  .join(" AND ")

/** @param ms how long users are provisional, in milliseconds; 0: no user is, whatever the rows contain. */
export function provisionalUsers(
  database: Database,
  { clock, ms, eventOf }: { clock: () => number; ms: number; eventOf: EventOf },
): ProvisionalUsers {
  const { users } = database.tables
  const isOn = ms > 0
  // The database's own clock decides, so a process whose clock is wrong replaces no user that may stay.
  const stillProvisional = users.statement(
    users
      .selectFrom("u")
      .select("u.id")
      .where(`${users.keyIs("u")} AND u.provisionalUntil > ${database.dialect.now}`)
      .andWhere("u.emailVerified IS NULL")
      .andWhere(hasNothing),
    ...users.key,
  )
  const confirm = users.erasure("provisionalUntil")
  const isProvisional = async (sql: Reads, key: Pick<UserRow, "tenant" | "id">) =>
    (await sql.read(stillProvisional, key)).length > 0

  return {
    until(user, isProvisional) {
      const canBe = isOn && isProvisional && user.emailKey !== undefined && user.emailVerified === undefined
      return canBe ? new Date(clock() + ms) : undefined
    },

    mayBe: (until) => isOn && until !== undefined && until.getTime() > clock(),

    isReplaceable: (caller, id) => isProvisional(database.reads(caller), { tenant: caller.tenant, id }),

    async replace(caller, id, row, rows) {
      if (!isOn) return false
      const key = { tenant: caller.tenant, id }
      try {
        return await database.write(caller, [users.nameOf(key), ...rows], async (sql) => {
          // Lock the row first, then check. A transaction that gives the user something needs a lock on this row.
          // Either it has committed and its row is visible, or it waits and then finds no user.
          const locked = await sql.read(users.byKeyForUpdate, key)
          if (locked.length > 0 && !(await isProvisional(sql, key))) return false
          await sql.write(users.delete, key, eventOf(caller, "user.deleted", { userId: id }))
          await sql.change([users.insertion(row), ...eventOf(caller, "user.created", { userId: row.id })])
          return true
        })
      } catch (error) {
        // Another transaction was faster.
        if (failsBy(error, "duplicate")) return false
        throw tenantNotFound(error)
      }
    },

    confirmation: ({ tenant }, id) => (isOn ? [confirm({ tenant, id })] : []),
  }
}
