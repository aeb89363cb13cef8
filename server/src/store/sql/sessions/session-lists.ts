import type { Caller, SessionStore } from "../../store.js"
import type { ListedSession, SessionFilter } from "../../types.js"
import type { Database } from "../database.js"
import { readPage, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import { ofPresentUser } from "../schema/deleted-users.js"
import type { SessionRow } from "../schema/rows.js"

// The range of times that every engine supports. All sessions were created within it.
const first = new Date("1000-01-01T00:00:00.000Z")
const last = new Date("9999-12-31T23:59:59.999Z")

/** The columns that lists select in addition to `columns`. */
const others = ["created", "lastSeen", "ip", "userAgent", "authMethod", "provider", "impersonator"] as const

/** A selection of a user's sessions by the time of creation, and optionally by provider and by expiry. */
interface Wanted {
  tenant: string
  userId: string
  provider?: string | undefined
  since: Date
  now: Date
}

/** The session after which the page begins, in descending order. */
type Position = Pick<ListedSession, "created" | "id">

/**
 * Creates the lists of sessions for callers without their tokens. A user's sessions are read by the index
 * `sessions_user_id`.
 */
export function sessionLists(
  database: Database,
  { tokens, clock }: { tokens: PageTokens; clock: () => number },
): Pick<SessionStore, "list" | "get"> {
  const { sessions } = database.tables
  const columns = listedColumns(database)
  const isActive = ({ active }: SessionFilter) =>
    active === undefined ? "" : ` AND s.expires ${active ? ">=" : "<"} :now`
  const isProvider =
    // For a plain comparison PostgreSQL would again estimate few rows.
    database.engine === "postgres"
      ? "CASE s.provider WHEN :provider THEN TRUE ELSE FALSE END"
      : "s.provider = :provider"
  const isOfProvider = ({ provider }: SessionFilter) => (provider === undefined ? "" : ` AND ${isProvider}`)
  // PostgreSQL plans the statement for any user. With an equality condition it expects few sessions, reads all of them
  // and sorts them. With a range it expects many, and reads them in index order. For the other engines the condition is
  // given in two forms: SQLite finds the place in the index by the first, MySQL and MariaDB by the second.
  const following =
    database.engine === "postgres"
      ? "(s.userId, s.created) >= (:userId, :since) AND (s.userId, s.created, s.id) < (:userId, :created, :id)"
      : "s.userId = :userId AND s.created >= :since AND (s.created, s.id) < (:created, :id)" +
        " AND (s.created < :created OR (s.created = :created AND s.id < :id))"
  const followingOf = (filter: SessionFilter) =>
    statement<SessionRow, Wanted & { after: Position }>(
      sessions
        .selectFrom("s")
        .select(columns)
        .where(`s.tenant = :tenant AND ${following}${isActive(filter)}${isOfProvider(filter)}`)
        .andWhere(ofPresentUser(":tenant", ":userId"))
        .orderBy("s.userId", "DESC")
        .addOrderBy("s.created", "DESC")
        .addOrderBy("s.id", "DESC")
        .limit(rowsPerStatement),
      {
        tenant: ({ tenant }) => sessions.cell("tenant", tenant),
        userId: ({ userId }) => sessions.cell("userId", userId),
        since: ({ since }) => sessions.cell("created", since),
        created: ({ after }) => sessions.cell("created", after.created),
        id: ({ after }) => sessions.cell("id", after.id),
        ...(filter.active !== undefined && { now: ({ now }: Wanted) => sessions.cell("expires", now) }),
        ...(filter.provider !== undefined && {
          provider: ({ provider }: Wanted) => sessions.cell("provider", provider),
        }),
      },
    )
  // One statement for each combination of filters, because a condition that is always true would spoil PostgreSQL's
  // estimate.
  const followings = new Map(
    [undefined, true, false]
      .flatMap((active) => [undefined, ""].map((provider) => ({ userId: "", active, provider })))
      .map((filter) => [kindOf(filter), followingOf(filter)]),
  )
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(columns)
      .where(`s.tenant = :tenant AND s.id = :id AND ${ofPresentUser("s.tenant", "s.userId")}`),
    "tenant",
    "id",
  )

  return {
    async list(caller, filter, { size, token }) {
      const list = ["sessions", caller.tenant, JSON.stringify(filter)]
      // No session is created at the last supported time, so all come after it in descending order.
      const [created, id] = token === undefined ? [last.toISOString(), ""] : tokens.open<[string, string]>(list, token)
      const wanted = wantedBy(caller, filter, new Date(clock()))
      const select = followings.get(kindOf(filter)) as Statement<Wanted & { after: Position }>
      // Read from the writer: a session that was revoked a moment ago must not appear as if the revocation had failed.
      const sql = database.reads(caller)
      const { items, next } = await readPage<ListedSession, Position>({
        size,
        after: { created: new Date(created), id },
        read: (after) => sql.read(select, { ...wanted, after }),
        itemOf: (cells) => listedSession(database, cells),
      })
      return { items, nextToken: next && tokens.seal(list, [next.created.toISOString(), next.id]) }
    },

    async get(caller, id) {
      const [cells] = await database.reads(caller).read(byId, { tenant: caller.tenant, id })
      return cells === undefined ? null : listedSession(database, cells)
    },
  }
}

/** Returns the columns from which `listedSession` makes a session, for the table alias `s`. */
export function listedColumns({ tables: { sessions } }: Database): string {
  return [sessions.columns("s"), ...others.map((property) => `s.${property}`)].join(", ")
}

export function listedSession({ tables: { sessions } }: Database, cells: Cell[]): ListedSession {
  const more = others.map((property, n) => [property, sessions.value(property, cells[sessions.width + n] as Cell)])
  return { ...sessions.row(cells), ...Object.fromEntries(more) }
}

/** Returns a text that is the same for filters of the same form. */
const kindOf = ({ active, provider }: SessionFilter) => `${active} ${provider !== undefined}`

function wantedBy({ tenant }: Caller, { userId, provider, createdSince }: SessionFilter, now: Date): Wanted {
  return {
    tenant,
    userId,
    provider,
    since: createdSince ?? first,
    now,
  }
}
