import { sessionPolicyEtag } from "../store/etag.js"
import { type Database, sessionPolicyStore } from "../store/sql/index.js"
import type { SessionPolicy } from "../store/types.js"
import { durationText } from "../util/duration-text.js"
import type { ImportSource } from "./item.js"

/** A session policy that differs from that of the tenant. */
export interface PolicyDifference {
  readonly source: SessionPolicy
  readonly target: SessionPolicy
  /** Makes it the policy of the tenant. Throws STALE_ETAG if that policy is no longer `target`. */
  write(): Promise<void>
}

/** Compares the session policy of a source with that of the tenant. Undefined if they are equal, or if the source has none. */
export async function policyDifference(
  { sessionPolicy }: ImportSource,
  { database, tenant }: { database: Database; tenant: string },
): Promise<PolicyDifference | undefined> {
  const source = (await sessionPolicy?.()) ?? {}
  if (Object.keys(source).length === 0) return undefined
  const policies = sessionPolicyStore(database)
  const target = await policies.get({ tenant })
  const etag = sessionPolicyEtag(target)
  if (etag === sessionPolicyEtag(source)) return undefined
  const none = { maxAge: null, idleTimeout: null, maxSessions: null, atLimit: null }
  return {
    source,
    target,
    write: async () => {
      await policies.update({ tenant }, { ...none, ...source }, { etag })
    },
  }
}

/** Describes a policy with the names and units that `authwire policy` uses. */
export function policyText({ maxAge, idleTimeout, maxSessions, atLimit }: SessionPolicy): string {
  const rules = {
    "max age": maxAge && durationText(maxAge),
    "idle timeout": idleTimeout && durationText(idleTimeout),
    "max sessions": maxSessions,
    "at limit": atLimit?.replace("_", "-"),
  }
  const shown = Object.entries(rules).flatMap(([rule, value]) => (value === undefined ? [] : [`${rule} ${value}`]))
  return shown.join(", ") || "none"
}
