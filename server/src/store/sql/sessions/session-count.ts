import type { SessionStore } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { Database } from "../database.js"
import { type Counted, countByCreation } from "../query/creation-count.js"
import { examinedAtOnce } from "../query/page.js"
import { policyIn } from "./session-policies.js"
import type { LivingSince, SessionRules } from "./session-rules.js"

interface CountedLiving extends Counted, LivingSince {}

/** Creates the count of sessions. It reads the index `sessions_created`, and with `active` also the rows. */
export function sessionCount(
  database: Database,
  { clock, rules }: { clock: () => number; rules: SessionRules },
): SessionStore["count"] {
  const { sessions, sessionPolicies } = database.tables
  const byIndex = { alias: "s", index: "sessions_created" }
  const isLiving = { sql: rules.living, parameters: rules.parameters, atOnce: examinedAtOnce }
  const countAll = countByCreation(sessions, byIndex)
  const countLiving = countByCreation<CountedLiving>(sessions, { ...byIndex, only: isLiving })

  return async (caller, { active, createdSince = firstTime, createdBefore = lastTime }) => {
    const { tenant } = caller
    const counted = { tenant, since: createdSince, before: createdBefore }
    const sql = database.olderReads(caller, "scan")
    if (!active) return countAll(sql, counted)
    const policies = await database.reads(caller).read(sessionPolicies.byKey, { tenant, provider: "" })
    return countLiving(sql, { ...counted, ...rules.since(policyIn(sessionPolicies.first(policies)), clock()) })
  }
}
