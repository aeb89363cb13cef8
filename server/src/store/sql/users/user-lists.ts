import type { Caller, UserStore } from "../../store.js"
import type { CountFilter, ListedUser } from "../../types.js"
import type { Database } from "../database.js"
import { countByCreation } from "../query/creation-count.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, statement } from "../query/statement.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import type { UserRow } from "../schema/rows.js"
import { emailKey } from "./email-key.js"
import { checkFilters, firstTime, lastTime, type RangePosition, rangeOf, userRanges } from "./user-ranges.js"
import type { UserReader } from "./user-reader.js"
import { type AccountPosition, usersOfProvider } from "./users-of-provider.js"

/** A selection of a tenant's users by the time of their creation, and optionally by address. */
interface Wanted {
  tenant: string
  emailKey?: string | undefined
  since: Date
  before: Date
}

/** Creates the lists of users. Without other filters than times and an address, users are counted by `users_created`. */
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
  // Users that are being deleted are counted too, and subtracted afterwards.
  const countCreated = countByCreation(users, { alias: "u", index: "users_created" })
  const countDeleted = statement<UserRow, Wanted>(
    select("COUNT(*)")
      .withDeleted()
      // SQLite finds the place in the index by the first condition, and PostgreSQL expects few rows by the second. The CASE
      // prevents the use of other indexes.
      .where("u.deleted >= :earliest AND u.deleted IS NOT NULL")
      .andWhere("CASE WHEN u.tenant = :tenant AND u.created >= :since AND u.created < :before THEN 1 ELSE 0 END = 1"),
    { ...parameters, earliest: () => users.cell("deleted", firstTime) },
  )
  const userOf = (cells: Cell[]): ListedUser => ({ ...reader.user(cells), ...timesOf(users, cells, reader.width) })
  const pageOfRange = userRanges(database, reader)
  const pageOfProvider = usersOfProvider(database, reader)
  const usersWithEmail = async (caller: Caller, wanted: Wanted) => {
    if (wanted.emailKey === undefined) return []
    const rows = await database.olderReads(caller).read(userWithEmail, wanted)
    return users.readable(rows, userOf)
  }

  return {
    async list(caller, filter, { size, token }) {
      checkFilters(filter)
      const list = ["users", caller.tenant, JSON.stringify(filter)]
      const { provider } = filter
      const isWanted = ({ disabled }: ListedUser) =>
        filter.disabled === undefined || (disabled !== undefined) === filter.disabled
      if (provider !== undefined) {
        const position = token === undefined ? undefined : tokens.open<AccountPosition>(list, token)
        const { items, next } = await pageOfProvider(caller, provider, { size, position })
        return { items: items.filter(isWanted), nextToken: next && tokens.seal(list, next) }
      }
      const position = token === undefined ? undefined : tokens.open<RangePosition>(list, token)
      if (filter.email !== undefined) {
        const items = await usersWithEmail(caller, wantedBy(caller, filter))
        return { items: items.filter(isWanted) }
      }
      const range = rangeOf(filter)
      if (range === undefined) return { items: [] }
      const { items, next } = await pageOfRange(caller, range, { size, position })
      return { items: items.filter(isWanted), nextToken: next && tokens.seal(list, next) }
    },

    async count(caller, filter) {
      const wanted = wantedBy(caller, filter)
      if (filter.email !== undefined && wanted.emailKey === undefined) return 0
      const sql = database.olderReads(caller, "scan")
      if (wanted.emailKey !== undefined) return Number((await sql.read(countWithEmail, wanted))[0]?.[0])
      const [created, deleted] = [await countCreated(sql, wanted), await sql.read(countDeleted, wanted)]
      return created - Number(deleted[0]?.[0])
    },
  }
}

function wantedBy(
  { tenant }: Caller,
  { email, createdSince = firstTime, createdBefore = lastTime }: CountFilter,
): Wanted {
  return { tenant, emailKey: emailKey(email), since: createdSince, before: createdBefore }
}
