import { StoreError } from "../../../errors/store-error.js"
import type { Caller } from "../../store.js"
import type { Database, Reads } from "../database.js"
import { isEnabled } from "../schema/present-users.js"

/** The error for a user that may not have the row that a call writes; undefined if it may. */
type Refusal = StoreError | undefined

export interface UserChecks {
  /** Returns USER_NOT_FOUND or USER_DISABLED. */
  refusalOf(sql: Reads, key: { tenant: string; id: string }): Promise<Refusal>
  /** Returns the error for a row of a user whose insert has failed with "no-parent". */
  missing(caller: Caller, userId: string): Promise<StoreError>
}

/** Creates the checks of users for rows that belong to them. */
export function userChecks(database: Database): UserChecks {
  const { users } = database.tables
  const select = users.statement(
    users
      .selectFrom("u")
      .select(`CASE WHEN ${isEnabled("u", database.dialect)} THEN 1 ELSE 0 END`)
      .where(users.keyIs("u")),
    ...users.key,
  )
  const refusalOf: UserChecks["refusalOf"] = async (sql, key) => {
    const [cells] = await sql.read(select, key)
    if (cells === undefined) return new StoreError("USER_NOT_FOUND", "no user has the user id")
    return Number(cells[0]) === 1 ? undefined : userDisabled()
  }
  return {
    refusalOf,
    async missing(caller, userId) {
      const key = { tenant: caller.tenant, id: userId }
      const refusal = await database.write(caller, [users.nameOf(key)], (sql) => refusalOf(sql, key))
      return refusal ?? new StoreError("CONFLICT", "the user was created or enabled at the same time")
    },
  }
}

export function userDisabled(): StoreError {
  return new StoreError("USER_DISABLED", "the user is disabled")
}
