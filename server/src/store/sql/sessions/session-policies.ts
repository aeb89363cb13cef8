import { StoreError } from "../../../errors/store-error.js"
import { checkEtag, sessionPolicyEtag } from "../../etag.js"
import type { Caller, SessionPolicyStore, SessionStore } from "../../store.js"
import type { SessionPolicy } from "../../types.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import type { Statements } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { tenantNotFound } from "../schema/present-tenants.js"
import type { SessionPolicyRow } from "../schema/rows.js"

const rules = ["maxAge", "idleTimeout", "maxSessions", "atLimit"] as const

/**
 * Returns a function that runs work with the row of a tenant, or of one of its providers, which it locks. It inserts a
 * missing row before, in a commit of its own, so that the work finds it on every engine. An empty row means nothing.
 */
function lockedPolicies(database: Database) {
  const { sessionPolicies: policies } = database.tables
  return async <T>(
    caller: Caller,
    provider: string,
    work: (sql: Statements, row: SessionPolicyRow) => Promise<T>,
  ): Promise<T> => {
    const key = { tenant: caller.tenant, provider }
    const names = [policies.nameOf(key)]
    if ((await database.reads(caller).read(policies.byKey, key)).length === 0) {
      try {
        const separate = { ...caller, transaction: undefined }
        await database.write(separate, names, (sql) => sql.write(policies.insert, key))
      } catch (error) {
        // Another call has inserted it.
        if (!failsBy(error, "duplicate")) throw tenantNotFound(error)
      }
    }
    return database.write(caller, names, async (sql) => {
      const row = policies.first(await sql.read(policies.byKeyForUpdate, key))
      if (row === null) throw new StoreError("TENANT_NOT_FOUND", "the tenant is being deleted")
      return work(sql, { ...row, ...key })
    })
  }
}

/** Returns the policy of a row; one without rules if there is none. */
export function policyIn(row: SessionPolicyRow | null): SessionPolicy {
  return Object.fromEntries(rules.flatMap((rule) => (row?.[rule] == null ? [] : [[rule, row[rule]]])))
}

/** @param eventOf Default: changes add no events. */
export function sessionPolicyStore(database: Database, eventOf: EventOf = () => []): SessionPolicyStore {
  const { sessionPolicies: policies } = database.tables
  const locked = lockedPolicies(database)
  const write = policies.statement(policies.updateOf(...rules).where(policies.keyIs()), ...policies.key, ...rules)
  return {
    async get(caller) {
      const key = { tenant: caller.tenant, provider: "" }
      return policyIn(policies.first(await database.reads(caller).read(policies.byKey, key)))
    },

    update: (caller, patch, options) =>
      locked(caller, "", async (sql, row) => {
        const before = policyIn(row)
        checkEtag(options?.etag, sessionPolicyEtag(before))
        const given = Object.entries(patch).filter(([, value]) => value !== undefined)
        const policy: SessionPolicy = Object.fromEntries(
          Object.entries({ ...before, ...Object.fromEntries(given) }).filter(([, value]) => value !== null),
        )
        const { tenant, provider } = row
        await sql.write(write, { tenant, provider, ...policy }, eventOf(caller, "session_policy.updated"))
        return policy
      }),
  }
}

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
