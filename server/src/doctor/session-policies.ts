import { type Database, newestSessions, type StoredTimes, sessionPolicyStore, tenantStore } from "../store/sql/index.js"
import { durationText } from "../util/duration-text.js"
import type { Diagnosis } from "./finding.js"

/** How many sessions of a tenant are read, the newest first. */
const examined = 100

const minute = 60_000
const units = [86_400_000, 3_600_000, minute]

/** How much later than its last recorded use a session may have been extended. */
const maxLagMs = 2 * minute

/** Reports tenants whose sessions were asked to last as long as the policy allows, or longer. Requires the tables of this version. */
export async function diagnoseSessionPolicies(database: Database): Promise<Diagnosis> {
  const what = "session policies"
  const found: string[] = []
  for (const { name: tenant } of await tenantStore(database).list({})) {
    const { maxAge } = await sessionPolicyStore(database).get({ tenant })
    if (maxAge === undefined) continue
    const sessions = await newestSessions(database, { tenant, limit: examined })
    const [asked] = sessions.map((times) => askedLifetime(times, maxAge)).filter((one) => one !== undefined)
    if (asked !== undefined && asked !== "shorter")
      found.push(`tenant ${tenant} asks for sessions of ${asked}, and max age is ${durationText(maxAge)}`)
  }
  if (found.length === 0)
    return { state: "ok", what, detail: "no application seems to ask for sessions that last as long as max age" }
  const advice =
    "its users are signed out earlier than its maxAge says, and their cookies last longer than the sessions." +
    " Set maxAge of the application to less than max age, or change max age with authwire policy set"
  return { state: "warning", what, detail: `an application of ${found.join("; one of ")}: ${advice}` }
}

/**
 * Returns the lifetime that an application asked for when it created or extended a session, or that it was shorter than `maxAge`.
 * Undefined if that is unknown.
 *
 * The stored expiry is what was asked for, but the policy has cut it if it was the same then. So a session that was cut tells no
 * exact lifetime, and none at all once it has been used for a while, when an extension may have been cut.
 */
export function askedLifetime({ created, used, expires }: StoredTimes, maxAge: number): string | undefined {
  const lifetime = expires.getTime() - created.getTime()
  if (lifetime < maxAge) return "shorter"
  const tolerance = Math.min(maxLagMs, maxAge / 10)
  const usedFor = used.getTime() - created.getTime()
  const isNew = usedFor <= tolerance
  if (lifetime === maxAge) return isNew ? `${durationText(maxAge)} or more` : undefined
  if (isNew) return durationText(Math.round(lifetime / minute) * minute)
  const least = units.map((unit) => Math.floor((lifetime - usedFor - tolerance) / unit) * unit)
  const readable = least.find((ms) => ms > maxAge)
  return readable === undefined ? undefined : `${durationText(readable)} or more`
}
