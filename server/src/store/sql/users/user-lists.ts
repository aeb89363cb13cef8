import type { SelectQueryBuilder } from "typeorm"
import type { Caller, UserStore } from "../../store.js"
import type { ListedUser, UserFilter } from "../../types.js"
import type { Database } from "../database.js"
import { readPage, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, statement } from "../query/statement.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import type { UserRow } from "../schema/rows.js"
import { withoutSkipped } from "../schema/unreadable-row.js"
import { emailKey } from "./email-key.js"
import type { UserReader } from "./user-reader.js"

// The range of times that every engine supports. All users were created within it.
const first = new Date("1000-01-01T00:00:00.000Z")
const last = new Date("9999-12-31T23:59:59.999Z")

/** A selection of a tenant's users by the time of their creation, and optionally by address. */
interface Wanted {
  tenant: string
  emailKey?: string | undefined
  since: Date
  before: Date
}

/** The most entries of the index that one statement counts. They take about 1 ms. */
export const countedAtOnce = 5_000

/** The user after which the page begins. With an empty id: the time from which on users are listed. */
interface Position {
  created: Date
  id: string
}

interface Range extends Wanted {
  after: Position
}

/** Creates the lists of users, which read the index `users_created`. */
export function userLists(
  database: Database,
  { tokens, reader }: { tokens: PageTokens; reader: UserReader },
): Pick<UserStore, "list" | "count"> {
  const { users } = database.tables
  const columns = columnsWithTimes(reader, "u")
  const parameters = {
    tenant: ({ tenant }: Wanted) => users.cell("tenant", tenant),
    since: ({ since }: Wanted) => users.cell("created", since),
    before: ({ before }: Wanted) => users.cell("created", before),
  }
  const withEmail = { ...parameters, emailKey: (wanted: Wanted) => users.cell("emailKey", wanted.emailKey) }
  const hasEmail = "u.tenant = :tenant AND u.created >= :since AND u.created < :before AND u.emailKey = :emailKey"
  const select = (what: string) => users.selectFrom("u").select(what)
  const userWithEmail = statement<UserRow, Wanted>(select(columns).where(hasEmail), withEmail)
  const countWithEmail = statement<UserRow, Wanted>(select("COUNT(*)").where(hasEmail), withEmail)
  // The condition is given in two forms, because SQLite finds the place in the index by the first and the servers
  // by the second.
  const isAfter =
    "u.tenant = :tenant AND u.created < :before AND (u.created, u.id) > (:created, :id)" +
    " AND (u.created > :created OR (u.created = :created AND u.id > :id))"
  const after = {
    tenant: parameters.tenant,
    before: parameters.before,
    created: ({ after }: Range) => users.cell("created", after.created),
    id: ({ after }: Range) => users.cell("id", after.id),
  }
  // Without the hint, the servers read whole rows if most rows of the table are selected. Users that are being deleted are
  // counted too, because the index does not say which ones they are, and subtracted afterwards.
  const byIndex = (what: string) => select(what).withDeleted().useIndex("users_created").where(isAfter)
  const countDeleted = statement<UserRow, Wanted>(
    select("COUNT(*)")
      .withDeleted()
      // SQLite finds the place in the index by the first condition, and PostgreSQL expects few rows by the second. The CASE
      // prevents the use of other indexes.
      .where("u.deleted >= :earliest AND u.deleted IS NOT NULL")
      .andWhere("CASE WHEN u.tenant = :tenant AND u.created >= :since AND u.created < :before THEN 1 ELSE 0 END = 1"),
    { ...parameters, earliest: () => users.cell("deleted", first) },
  )
  const ordered = (one: SelectQueryBuilder<UserRow>) => one.orderBy("u.created").addOrderBy("u.id")
  const following = statement<UserRow, Range>(
    ordered(select(columns).useIndex("users_created").where(isAfter)).limit(rowsPerStatement),
    after,
  )
  /** Selects the last of the entries that one statement may count. */
  const lastCounted = statement<UserRow, Range>(
    ordered(byIndex("u.created, u.id"))
      .offset(countedAtOnce - 1)
      .limit(1),
    after,
  )
  const countRest = statement<UserRow, Range>(byIndex("COUNT(*)"), after)
  const times = (cells: Cell[]) => timesOf(users, cells, reader.width)
  const userOf = (cells: Cell[]): ListedUser => ({ ...reader.user(cells), ...times(cells) })
  const itemOf = (cells: Cell[]) =>
    users.readableItem(cells, userOf, () => ({
      id: users.valueIn("id", cells),
      created: times(cells).created,
    }))
  const usersWithEmail = async (caller: Caller, wanted: Wanted) => {
    if (wanted.emailKey === undefined) return []
    const rows = await database.olderReads(caller).read(userWithEmail, wanted)
    return users.readable(rows, userOf)
  }

  return {
    async list(caller, filter, { size, token }) {
      const wanted = wantedBy(caller, filter)
      const list = ["users", caller.tenant, JSON.stringify([filter.email === undefined, wanted])]
      const [created, id] =
        token === undefined ? [wanted.since.toISOString(), ""] : tokens.open<[string, string]>(list, token)
      if (filter.email !== undefined) return { items: await usersWithEmail(caller, wanted) }
      // No id is empty, so all users of that millisecond come after it.
      const after = { created: new Date(created), id }
      const sql = database.olderReads(caller)
      const read = (last: Position) => sql.read(following, { ...wanted, after: last })
      const { items, next } = await readPage<ListedUser, Position>({ size, after, read, itemOf })
      return {
        items: withoutSkipped(items),
        nextToken: next && tokens.seal(list, [next.created.toISOString(), next.id]),
      }
    },

    async count(caller, filter) {
      const wanted = wantedBy(caller, filter)
      if (filter.email !== undefined && wanted.emailKey === undefined) return 0
      const sql = database.olderReads(caller, "scan")
      if (wanted.emailKey !== undefined) return Number((await sql.read(countWithEmail, wanted))[0]?.[0])
      // In slices, between which the other callers have their turns.
      let after: Position = { created: wanted.since, id: "" }
      for (let counted = 0; ; counted += countedAtOnce) {
        const [cells] = await sql.read(lastCounted, { ...wanted, after })
        if (cells === undefined) {
          const [rest, deleted] = [
            await sql.read(countRest, { ...wanted, after }),
            await sql.read(countDeleted, wanted),
          ]
          return counted + Number(rest[0]?.[0]) - Number(deleted[0]?.[0])
        }
        const [created, id] = cells as [Cell, Cell]
        after = { created: users.value("created", created) as Date, id: users.value("id", id) }
      }
    },
  }
}

function wantedBy({ tenant }: Caller, { email, createdSince = first, createdBefore = last }: UserFilter): Wanted {
  return { tenant, emailKey: emailKey(email), since: createdSince, before: createdBefore }
}
