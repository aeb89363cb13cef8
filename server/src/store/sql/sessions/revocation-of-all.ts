import { StoreError } from "../../../errors/store-error.js"
import type { SessionStore } from "../../store.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { lockedPolicies } from "./session-policies.js"

/** Creates the method `revokeAll` of the session store. */
export function revocationOfAll(
  database: Database,
  { clock, eventOf }: { clock: () => number; eventOf: EventOf },
): SessionStore["revokeAll"] {
  const { sessionPolicies: policies } = database.tables
  const locked = lockedPolicies(database)
  const write = policies.statement(
    policies.updateOf("revokedBefore").where(policies.keyIs()),
    ...policies.key,
    "revokedBefore",
  )
  return (caller, { createdBefore, provider }) =>
    locked(caller, provider ?? "", async (sql, row) => {
      // The clock is read when the row is locked: every session that was created before the call has an earlier time.
      const now = clock()
      if (createdBefore !== undefined && createdBefore.getTime() > now)
        throw new StoreError("INVALID_FIELD", "must not be in the future", { field: "created_before" })
      const wanted = createdBefore ?? new Date(now + 1)
      const mark = row.revokedBefore && row.revokedBefore > wanted ? row.revokedBefore : wanted
      const event = eventOf(caller, "all_sessions.revoked", { provider })
      await sql.write(write, { tenant: row.tenant, provider: row.provider, revokedBefore: mark }, event)
      return mark
    })
}
