import type { Caller, UserStore } from "../../store.js"
import type { ListedUser, UserFilter } from "../../types.js"
import type { Database } from "../database.js"
import { readPage, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, statement } from "../query/statement.js"
import type { UserRow } from "../schema/entities.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import { emailKey } from "./email-key.js"

// What every engine has as a moment. Nobody was created before the one or after the other.
const first = new Date("1000-01-01T00:00:00.000Z")
const last = new Date("9999-12-31T23:59:59.999Z")

/** Users by tenant and the time of their creation, and the one with an address. */
interface Wanted {
  tenant: string
  emailKey?: string | undefined
  since: Date
  before: Date
}

/** The user after whom the next one is looked for; without an id, the moment from which on. */
interface Position {
  created: Date
  id: string
}

/** The lists of users, by the index `users_created`. */
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
  // Else the servers read whole rows, of users who are most of their table.
  const byIndex = select("COUNT(*)").useIndex("users_created")
  const count = statement<UserRow, Wanted>(byIndex.where(createdThen), parameters)
  const countWithEmail = statement<UserRow, Wanted>(select("COUNT(*)").where(hasEmail), withEmail)
  const following = statement<UserRow, Wanted & { after: Position }>(
    select(columns)
      .where("u.tenant = :tenant AND u.created < :before")
      // Said twice, because each of the engines finds the place in the index by one of the two: SQLite, the servers.
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
    const rows = await database.olderStatements(caller, (sql) => sql.read(userWithEmail, wanted))
    return rows.map(userOf)
  }

  return {
    async list(caller, filter, { size, token }) {
      const wanted = wantedBy(caller, filter)
      const list = ["users", caller.tenant, JSON.stringify([filter.email === undefined, wanted])]
      const [created, id] =
        token === undefined ? [wanted.since.toISOString(), ""] : tokens.open<[string, string]>(list, token)
      if (filter.email !== undefined) return { items: await usersWithEmail(caller, wanted) }
      // No id is empty: all those of a moment come after it.
      const after = { created: new Date(created), id }
      const { items, next } = await database.olderStatements(caller, (sql) => {
        const read = (last: Position) => sql.read(following, { ...wanted, after: last })
        return readPage<ListedUser, Position>({ size, after, read, itemOf: userOf })
      })
      return { items, nextToken: next && tokens.seal(list, [next.created.toISOString(), next.id]) }
    },

    async count(caller, filter) {
      const wanted = wantedBy(caller, filter)
      if (filter.email !== undefined && wanted.emailKey === undefined) return 0
      const statement = wanted.emailKey === undefined ? count : countWithEmail
      // One at a time, or those of one key would take all connections for seconds.
      const turn = `count users ${caller.tenant}`
      const rows = await database.olderStatements(caller, (sql) => sql.read(statement, wanted), turn)
      return Number(rows[0]?.[0])
    },
  }
}

function wantedBy({ tenant }: Caller, { email, createdSince = first, createdBefore = last }: UserFilter): Wanted {
  return { tenant, emailKey: emailKey(email), since: createdSince, before: createdBefore }
}
