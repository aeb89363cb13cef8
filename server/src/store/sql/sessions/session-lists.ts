import type { SessionStore } from "../../store.js"
import type { ListedSession } from "../../types.js"
import type { Database } from "../database.js"
import { readPage } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import type { Cell } from "../query/statement.js"
import { ofPresentUser } from "../schema/deleted-users.js"
import { withoutSkipped } from "../schema/unreadable-row.js"
import { policyIn } from "./session-policies.js"
import { beginning, endAt, firstTime, type Position, sessionRanges } from "./session-ranges.js"
import { endOf, type SessionRules } from "./session-rules.js"

/** The columns that lists select in addition to `columns`. */
const others = ["created", "lastSeen", "ip", "userAgent", "authMethod", "provider", "impersonator"] as const

/**
 * Creates the lists of sessions for callers without their tokens, which read the indexes of session-ranges.ts.
 */
export function sessionLists(
  database: Database,
  { tokens, clock, rules }: { tokens: PageTokens; clock: () => number; rules: SessionRules },
): Pick<SessionStore, "list" | "get"> {
  const { sessions, sessionPolicies } = database.tables
  const rangeOf = sessionRanges(database, listedColumns(database, rules), rules)
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(listedColumns(database, rules))
      .where(`s.tenant = :tenant AND s.id = :id AND ${ofPresentUser("s.tenant", "s.userId")}`),
    "tenant",
    "id",
  )

  return {
    async list(caller, filter, { size, token }) {
      const { following, endOfSlice } = rangeOf(filter)
      const list = ["sessions", caller.tenant, JSON.stringify(filter)]
      const after = token === undefined ? beginning : positionIn(tokens.open<TokenPosition>(list, token))
      const { userId, ip, provider, createdSince: since = firstTime } = filter
      const key = { tenant: caller.tenant, provider: "" }
      const policies = filter.active === undefined ? [] : await database.reads(caller).read(sessionPolicies.byKey, key)
      const times = rules.since(policyIn(sessionPolicies.first(policies)), clock())
      const wanted = { tenant: caller.tenant, userId, ip, provider, since, ...times }
      // Read from the writer: a session that was revoked a moment ago must not appear as if the revocation had failed.
      const sql = database.reads(caller)
      const scans = database.reads(caller, "scan")
      const { items, next } = await readPage<ListedSession, Position>({
        size,
        after,
        ...(endOfSlice !== undefined && {
          endOfSlice: async (after: Position) => {
            const [cells] = await sql.read(endOfSlice, { ...wanted, after, end: endAt(since) })
            if (cells === undefined) return undefined
            const [created, id] = cells as [Cell, Cell]
            return { created: sessions.value("created", created) as Date, id: sessions.value("id", id) as string }
          },
        }),
        // The sessions of most users end before a first slice does.
        read: (after, end) =>
          (end === undefined ? sql : scans).read(following, { ...wanted, after, end: end ?? endAt(since) }),
        itemOf: (row) =>
          sessions.readableItem(
            row,
            (cells) => listedSession(database, rules, cells),
            (cells) => ({
              id: sessions.valueIn("id", cells) as string,
              created: sessions.value("created", cells[sessions.width] as Cell) as Date,
            }),
          ),
      })
      return {
        items: withoutSkipped(items),
        nextToken: next && tokens.seal(list, [next.created.toISOString(), next.id]),
      }
    },

    async get(caller, id) {
      const [cells] = await database.reads(caller).read(byId, { tenant: caller.tenant, id })
      return cells === undefined ? null : listedSession(database, rules, cells)
    },
  }
}

/** A position in a page token. */
type TokenPosition = [created: string, id: string]

const positionIn = ([created, id]: TokenPosition): Position => ({ created: new Date(created), id })

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
