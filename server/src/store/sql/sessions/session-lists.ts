import type { SessionStore } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { ListedSession } from "../../types.js"
import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import { ofPresentUser } from "../schema/present-users.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { policyIn } from "./session-policies.js"
import { sessionRanges } from "./session-ranges.js"
import { endOf, type SessionRules } from "./session-rules.js"

/** The columns that lists select in addition to `columns`. */
const others = [
  ...(["created", "lastSeen", "ip", "userAgent", "authMethod", "provider", "impersonator"] as const),
  "providerSessionId",
] as const

/**
 * Creates the lists of sessions for callers without their tokens, which read the indexes of session-ranges.ts.
 */
export function sessionLists(
  database: Database,
  { tokens, clock, rules }: { tokens: PageTokens; clock: () => number; rules: SessionRules },
): Pick<SessionStore, "list" | "get"> {
  const { sessions, sessionPolicies } = database.tables
  const listOf = sessionRanges(database, listedColumns(database, rules), rules)
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(listedColumns(database, rules))
      .where(`s.tenant = :tenant AND s.id = :id AND ${ofPresentUser("s.tenant", "s.userId")}`),
    "tenant",
    "id",
  )
  return {
    async list(caller, filter, page) {
      const { tenant } = caller
      const list = listOf(filter)
      const { userId, ip, provider, createdSince = firstTime } = filter
      const key = { tenant, provider: "" }
      const policies = filter.active === undefined ? [] : await database.reads(caller).read(sessionPolicies.byKey, key)
      const times = rules.since(policyIn(sessionPolicies.first(policies)), clock())
      return list(page, {
        tokens,
        name: ["sessions", tenant, JSON.stringify(filter)],
        first: { created: lastTime, id: "" },
        values: { of: { tenant, userId, ip }, to: { created: createdSince, id: "" }, provider, ...times },
        itemOf: (cells) => listedSession(database, rules, cells),
        // From the writer: a session that was revoked a moment ago must not appear as if the revocation had failed.
        reads: database.reads(caller),
        signal: caller.signal,
        // The sessions of most users end before a first slice does.
        scans: database.reads(caller, "scan"),
      })
    },

    async get(caller, id) {
      const [cells] = await database.reads(caller).read(byId, { tenant: caller.tenant, id })
      return cells === undefined ? null : listedSession(database, rules, cells)
    },
  }
}

/** Returns the columns from which `listedSession` makes a session, for the table alias `s`. */
export function listedColumns({ tables: { sessions } }: Database, rules: SessionRules): string {
  return [sessions.columns("s"), ...others.map((property) => `s.${property}`), ...rules.columns].join(", ")
}

export function listedSession({ tables: { sessions } }: Database, rules: SessionRules, cells: Cell[]): ListedSession {
  const more = others.map((property, n) => [property, sessions.value(property, cells[sessions.width + n] as Cell)])
  const session: ListedSession = { ...sessions.row(cells), ...Object.fromEntries(more) }
  const limits = rules.limitsIn(cells, sessions.width + others.length)
  return { ...session, expires: endOf(session.expires, session.created, limits) }
}
