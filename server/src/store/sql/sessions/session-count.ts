import type { SessionStore } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { Database } from "../database.js"
import { countAlong } from "../walks/count.js"
import { examinedAtOnce } from "../walks/list.js"
import { walks } from "../walks/walks.js"
import { policyIn } from "./session-policies.js"
import type { LivingSince, SessionRules } from "./session-rules.js"

/** Creates the count of sessions. With `active` it reads the rows too. */
export function sessionCount(
  database: Database,
  { clock, rules }: { clock: () => number; rules: SessionRules },
): SessionStore["count"] {
  const { sessionPolicies } = database.tables
  const filter = { condition: rules.living, parameters: rules.parameters, atOnce: examinedAtOnce }
  const countAll = countAlong(database, walks.sessionsByCreation, { alias: "s" })
  const countLiving = countAlong<LivingSince>(database, walks.sessionsByCreation, { alias: "s", filter })

  return async (caller, { active, createdSince = firstTime, createdBefore = lastTime }) => {
    const { tenant } = caller
    const counted = { tenant, since: createdSince, before: createdBefore }
    const sql = database.olderReads(caller, "scan")
    if (!active) return countAll(sql, counted)
    const policies = await database.reads(caller).read(sessionPolicies.byKey, { tenant, provider: "" })
    return countLiving(sql, { ...counted, ...rules.since(policyIn(sessionPolicies.first(policies)), clock()) })
  }
}
