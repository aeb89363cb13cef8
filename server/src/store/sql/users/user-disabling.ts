import { StoreError } from "../../../errors/store-error.js"
import type { Caller, UserStore } from "../../store.js"
import type { Disabled, User } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import type { Statements } from "../query/statement.js"
import { disabledColumns } from "../schema/rows.js"
import type { UserReader } from "./user-reader.js"
import type { UserRevocations } from "./user-revocations.js"

/**
 * Creates the methods that disable and enable users. The row of the user is what counts: all reads of sessions join it,
 * and all inserts for a user check it. The sessions are deleted so that none is active again once the user is enabled.
 */
export function userDisabling(
  database: Database,
  {
    clock,
    reader,
    eventOf,
    revocations,
  }: { clock: () => number; reader: UserReader; eventOf: EventOf; revocations: UserRevocations },
): Pick<UserStore, "disable" | "enable"> {
  const { users } = database.tables
  // Somebody else's sign-up with the same address must not replace a disabled user.
  const columns = [...disabledColumns, "updated", "provisionalUntil"] as const
  const write = users.statement(users.updateOf(...columns).where(users.keyIs()), ...users.key, ...columns)

  /** Disables or enables a user whose row is locked. */
  async function mark(sql: Statements, caller: Caller, id: string, disabled: Disabled | undefined): Promise<void> {
    const row = {
      tenant: caller.tenant,
      id,
      disabledSince: disabled?.since,
      disabledUntil: disabled?.until,
      disabledReason: disabled?.reason,
      provisionalUntil: undefined,
      updated: new Date(clock()),
    }
    await sql.write(
      write,
      row,
      eventOf(caller, disabled === undefined ? "user.enabled" : "user.disabled", { userId: id }),
    )
  }

  /** Runs work in a transaction that has locked the user. Returns null if there is no such user. */
  function locked<T>(caller: Caller, id: string, work: (sql: Statements, user: User) => Promise<T>): Promise<T | null> {
    const key = { tenant: caller.tenant, id }
    return database.write(caller, [users.nameOf(key)], async (sql) => {
      const user = reader.first(await sql.read(reader.byKeyForUpdate, key))
      return user === null ? null : work(sql, user)
    })
  }

  return {
    async disable(caller, id, { until, reason }) {
      if (until !== undefined && until.getTime() <= clock()) {
        throw new StoreError("INVALID_FIELD", "must be in the future", { field: "end_time" })
      }
      const disabledFrom = (user: User) => ({ since: user.disabled?.since ?? new Date(clock()), until, reason })
      // Deleting thousands of sessions takes a while, so the user is disabled before, in a commit of its own.
      const separate = { ...caller, transaction: undefined }
      const first = () => locked(separate, id, (sql, user) => mark(sql, separate, id, disabledFrom(user)))
      const revoked = await revocations.revokeMost(caller, id, first)
      return locked(caller, id, async (sql, user) => {
        const disabled = disabledFrom(user)
        await mark(sql, caller, id, disabled)
        return { ...user, disabled, revokedSessions: revoked + (await revocations.revokeRest(sql, caller, id)) }
      })
    },

    enable: (caller, id) =>
      locked(caller, id, async (sql, user) => {
        const { disabled, ...enabled } = user
        if (disabled === undefined) return user
        await mark(sql, caller, id, undefined)
        // There are some only if an import has written them, which does not ask whether a user is disabled.
        await revocations.revokeRest(sql, caller, id)
        return enabled
      }),
  }
}
