import type { Caller, SessionStore } from "../../store.js"
import type { ListedSession, SessionFilter } from "../../types.js"
import type { Database } from "../database.js"
import { examinedAtOnce, readPage, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import { ofPresentUser } from "../schema/deleted-users.js"
import type { SessionRow } from "../schema/rows.js"
import { withoutSkipped } from "../schema/unreadable-row.js"

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

/** A position in the order of the list, which is descending. */
type Position = Pick<ListedSession, "created" | "id">

/** What one statement reads: the sessions after one position, up to another one. */
interface Range extends Wanted {
  after: Position
  end: Position
}

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
  // The CASE prevents the use of other indexes, and for plain comparisons PostgreSQL would estimate few rows.
  const isActive = ({ active }: SessionFilter) =>
    active === undefined ? "" : ` AND CASE WHEN s.expires ${active ? ">=" : "<"} :now THEN TRUE ELSE FALSE END`
  const isOfProvider = ({ provider }: SessionFilter) =>
    provider === undefined ? "" : " AND CASE s.provider WHEN :provider THEN TRUE ELSE FALSE END"
  // PostgreSQL plans the statement for any user. With an equality condition it expects few sessions, reads all of them
  // and sorts them. With a range it expects many, and reads them in index order. For the other engines conditions are
  // given in two forms: SQLite finds the place in the index by the first, MySQL and MariaDB by the second.
  const isPostgres = database.engine === "postgres"
  const isAfter = isPostgres
    ? "(s.userId, s.created, s.id) < (:userId, :created, :id)"
    : "(s.created, s.id) < (:created, :id) AND (s.created < :created OR (s.created = :created AND s.id < :id))"
  // For the equality condition MariaDB would read all sessions of the user.
  const isOfUser = database.engine === "mariadb" ? "s.userId >= :userId AND s.userId <= :userId" : "s.userId = :userId"
  const whole = isPostgres ? "(s.userId, s.created) >= (:userId, :since)" : `${isOfUser} AND s.created >= :since`
  const slice = isPostgres
    ? "(s.userId, s.created, s.id) >= (:userId, :since, :last)"
    : `${isOfUser} AND (s.created, s.id) >= (:since, :last) AND (s.created > :since OR (s.created = :since AND s.id >= :last))`
  const ordered = (what: string, where: string) =>
    sessions
      .selectFrom("s")
      .select(what)
      .where(`s.tenant = :tenant AND ${isAfter} AND ${where}`)
      .orderBy("s.userId", "DESC")
      .addOrderBy("s.created", "DESC")
      .addOrderBy("s.id", "DESC")
  const parameters = {
    tenant: ({ tenant }: Range) => sessions.cell("tenant", tenant),
    userId: ({ userId }: Range) => sessions.cell("userId", userId),
    since: ({ end }: Range) => sessions.cell("created", end.created),
    created: ({ after }: Range) => sessions.cell("created", after.created),
    id: ({ after }: Range) => sessions.cell("id", after.id),
  }
  const followingOf = (filter: SessionFilter) => {
    const filtered = isFiltered(filter) ? `${slice}${isActive(filter)}${isOfProvider(filter)}` : whole
    const where = `${filtered} AND ${ofPresentUser(":tenant", ":userId")}`
    return statement<SessionRow, Range>(ordered(columns, where).limit(rowsPerStatement), {
      ...parameters,
      ...(isFiltered(filter) && { last: ({ end }: Range) => sessions.cell("id", end.id) }),
      ...(filter.active !== undefined && { now: ({ now }: Wanted) => sessions.cell("expires", now) }),
      ...(filter.provider !== undefined && {
        provider: ({ provider }: Wanted) => sessions.cell("provider", provider),
      }),
    })
  }
  // One statement for each combination of filters, because a condition that is always true would spoil PostgreSQL's
  // estimate.
  const followings = new Map(
    [undefined, true, false]
      .flatMap((active) => [undefined, ""].map((provider) => ({ userId: "", active, provider })))
      .map((filter) => [kindOf(filter), followingOf(filter)]),
  )
  /** Selects the last of the entries that one statement may examine. The index contains all of its columns. */
  const endOfSlice = statement<SessionRow, Range>(
    ordered("s.created, s.id", whole)
      .offset(examinedAtOnce - 1)
      .limit(1),
    parameters,
  )
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(columns)
      .where(`s.tenant = :tenant AND s.id = :id AND ${ofPresentUser("s.tenant", "s.userId")}`),
    "tenant",
    "id",
  )

  const positionOf = ([created, id]: Cell[]): Position => ({
    created: sessions.value("created", created as Cell) as Date,
    id: sessions.value("id", id as Cell) as string,
  })

  return {
    async list(caller, filter, { size, token }) {
      const list = ["sessions", caller.tenant, JSON.stringify(filter)]
      // No session is created at the last supported time, so all come after it in descending order.
      const [created, id] = token === undefined ? [last.toISOString(), ""] : tokens.open<[string, string]>(list, token)
      const wanted = wantedBy(caller, filter, new Date(clock()))
      const select = followings.get(kindOf(filter)) as Statement<Range>
      // No id is empty, so the whole range belongs to the list.
      const lastEnd = { created: wanted.since, id: "" }
      // Read from the writer: a session that was revoked a moment ago must not appear as if the revocation had failed.
      const sql = database.reads(caller)
      const scans = database.reads(caller, "scan")
      const { items, next } = await readPage<ListedSession, Position>({
        size,
        after: { created: new Date(created), id },
        ...(isFiltered(filter) && {
          endOfSlice: async (after: Position) => {
            const [cells] = await sql.read(endOfSlice, { ...wanted, after, end: lastEnd })
            return cells && positionOf(cells)
          },
        }),
        // The sessions of most users end before a first slice does.
        read: (after, end) => (end === undefined ? sql : scans).read(select, { ...wanted, after, end: end ?? lastEnd }),
        itemOf: (row) =>
          sessions.readableItem(
            row,
            (cells) => listedSession(database, cells),
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

/** Whether a filter may exclude sessions that its range of times includes. */
const isFiltered = ({ active, provider }: SessionFilter) => active !== undefined || provider !== undefined

function wantedBy({ tenant }: Caller, { userId, provider, createdSince }: SessionFilter, now: Date): Wanted {
  return {
    tenant,
    userId,
    provider,
    since: createdSince ?? first,
    now,
  }
}
