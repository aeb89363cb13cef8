import type { Caller, UserStore } from "../../store.js"
import type { ListedUser, UserFilter } from "../../types.js"
import type { Database } from "../database.js"
import { readPage, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, statement } from "../query/statement.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import type { UserRow } from "../schema/rows.js"
import { emailKey } from "./email-key.js"

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

/** The user after which the page begins. With an empty id: the time from which on users are listed. */
interface Position {
  created: Date
  id: string
}

/** Creates the lists of users, which read the index `users_created`. */
export function userLists(database: Database, tokens: PageTokens): Pick<UserStore, "list" | "count"> {
  const { users } = database.tables
  const columns = columnsWithTimes(users, "u")
  const parameters = {
    tenant: ({ tenant }: Wanted) => users.cell("tenant", tenant),
    since: ({ since }: Wanted) => users.cell("created", since),
    before: ({ before }: Wanted) => users.cell("created", before),
  }
  const withEmail = { ...parameters, emailKey: (wanted: Wanted) => users.cell("emailKey", wanted.emailKey) }
  const createdThen = "u.tenant = :tenant AND u.created >= :since AND u.created < :before"
  const hasEmail = `${createdThen} AND u.emailKey = :emailKey`
  const select = (what: string) => users.selectFrom("u").select(what)
  const userWithEmail = statement<UserRow, Wanted>(select(columns).where(hasEmail), withEmail)
  // Without the hint, the servers read whole rows if most rows of the table are selected.
  // Users that are being deleted are few. They are subtracted, because the index does not say which ones they are.
  const deleted =
    "SELECT COUNT(*) FROM users d WHERE d.tenant = :tenant AND d.created >= :since AND d.created < :before"
  const byIndex = select(`COUNT(*) - (${deleted} AND d.deleted >= :earliest)`).useIndex("users_created").withDeleted()
  const count = statement<UserRow, Wanted>(byIndex.where(createdThen), {
    ...parameters,
    earliest: () => users.cell("deleted", first),
  })
  const countWithEmail = statement<UserRow, Wanted>(select("COUNT(*)").where(hasEmail), withEmail)
  const following = statement<UserRow, Wanted & { after: Position }>(
    select(columns)
      .useIndex("users_created")
      .where("u.tenant = :tenant AND u.created < :before")
      // The condition is given in two forms, because SQLite finds the place in the index by the first and the servers
      // by the second.
      .andWhere("(u.created, u.id) > (:created, :id)")
      .andWhere("(u.created > :created OR (u.created = :created AND u.id > :id))")
      .orderBy("u.created")
      .addOrderBy("u.id")
      .limit(rowsPerStatement),
    {
      tenant: parameters.tenant,
      before: parameters.before,
      created: ({ after }) => users.cell("created", after.created),
      id: ({ after }) => users.cell("id", after.id),
    },
  )
  const userOf = (cells: Cell[]): ListedUser => ({ ...users.row(cells), ...timesOf(users, cells) })
  const usersWithEmail = async (caller: Caller, wanted: Wanted) => {
    if (wanted.emailKey === undefined) return []
    const rows = await database.olderReads(caller).read(userWithEmail, wanted)
    return rows.map(userOf)
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
      const { items, next } = await readPage<ListedUser, Position>({ size, after, read, itemOf: userOf })
      return { items, nextToken: next && tokens.seal(list, [next.created.toISOString(), next.id]) }
    },

    async count(caller, filter) {
      const wanted = wantedBy(caller, filter)
      if (filter.email !== undefined && wanted.emailKey === undefined) return 0
      const statement = wanted.emailKey === undefined ? count : countWithEmail
      // One count at a time per tenant. Otherwise the counts of one API key could occupy all connections for seconds.
      const rows = await database.olderReads(caller, `count users ${caller.tenant}`).read(statement, wanted)
      return Number(rows[0]?.[0])
    },
  }
}

function wantedBy({ tenant }: Caller, { email, createdSince = first, createdBefore = last }: UserFilter): Wanted {
  return { tenant, emailKey: emailKey(email), since: createdSince, before: createdBefore }
}
