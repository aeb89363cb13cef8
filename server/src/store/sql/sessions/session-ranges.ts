import type { SessionFilter } from "../../types.js"
import type { Database } from "../database.js"
import { ofPresentUser } from "../schema/present-users.js"
import { noCommonIndex } from "../users/user-ranges.js"
import { listAlong } from "../walks/list.js"
import { walks } from "../walks/walks.js"
import type { LivingSince, SessionRules } from "./session-rules.js"

/** What the filters compare sessions with. */
interface Compared extends LivingSince {
  provider: string | undefined
}

/**
 * Creates the lists of sessions, the newest first, one for each combination of filters.
 *
 * @param columns the columns of sessions that the statements select, for the table alias `s`.
 */
export function sessionRanges(database: Database, columns: string, rules: SessionRules) {
  const { sessions } = database.tables

  function listOf({ userId, ip, impersonated, active, provider }: SessionFilter) {
    const isOfUser = userId !== undefined
    // The CASE prevents the use of other indexes, and for plain comparisons PostgreSQL would estimate few rows.
    const only = (condition: string) => `CASE WHEN ${condition} THEN TRUE ELSE FALSE END`
    const conditions = [
      ...(active === undefined ? [] : [`CASE WHEN ${rules.living} THEN ${active} ELSE ${!active} END`]),
      ...(provider === undefined ? [] : [only("s.provider = :provider")]),
      ...(impersonated ? [only("s.impersonator IS NOT NULL")] : []),
      ...(isOfUser ? [] : [only(ofPresentUser("s.tenant", "s.userId"))]),
    ]
    const parameters = {
      ...(active !== undefined && rules.parameters),
      ...(provider !== undefined && { provider: (compared: Compared) => sessions.cell("provider", compared.provider) }),
    }
    const ofOthers = ip === undefined ? walks.sessionsByCreation : walks.sessionsOfAddress
    return listAlong<"sessions", Compared>(database, isOfUser ? walks.sessionsOfUser : ofOthers, {
      ...{ alias: "s", select: columns, backwards: true, to: ["created"] },
      where: isOfUser ? ofPresentUser(":tenant", ":userId") : undefined,
      filter: conditions.length === 0 ? undefined : { condition: conditions.join(" AND "), parameters },
    })
  }

  // One for each combination of filters, because a condition that is always true would spoil PostgreSQL's estimate.
  const ofUser: SessionFilter[] = [undefined, true, false].flatMap((active) =>
    [undefined, ""].map((provider) => ({ userId: "", active, provider })),
  )
  const ofAll: SessionFilter[] = [{}, { ip: "" }, { impersonated: true }]
  const all = new Map([...ofUser, ...ofAll].map((filter) => [kindOf(filter), listOf(filter)]))
  /** Returns the list of a filter. Throws INVALID_FIELD for conditions that no index serves together. */
  return (filter: SessionFilter) => all.get(kindOf(filter)) ?? reject(filter)
}

/** Returns a text that is the same for filters of the same form. */
function kindOf({ userId, active, provider, ip, impersonated }: SessionFilter): string {
  return `${userId !== undefined} ${active} ${provider !== undefined} ${ip !== undefined} ${impersonated}`
}

/** Throws INVALID_FIELD for conditions that no index serves together. */
function reject({ userId, active, provider, ip, impersonated }: SessionFilter): never {
  const given = { [userId === undefined ? "all_users" : "user_id"]: true, ip, impersonated, active, provider }
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  throw noCommonIndex(names)
}
