import type { Caller, UserStore } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { CountFilter, ListedUser, Page, PageRequest, UserFilter } from "../../types.js"
import type { Database } from "../database.js"
import { statement } from "../query/statement.js"
import type { UserRow } from "../schema/rows.js"
import { along } from "../walks/along.js"
import { countAlong } from "../walks/count.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { walks } from "../walks/walks.js"
import { emailKey } from "./text-keys.js"
import { checkFilters, rangeOf, userRanges } from "./user-ranges.js"
import type { UserReader } from "./user-reader.js"
import { usersOfProvider } from "./users-of-provider.js"

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
  const parameters = {
    tenant: ({ tenant }: Wanted) => users.cell("tenant", tenant),
    since: ({ since }: Wanted) => users.cell("created", since),
    before: ({ before }: Wanted) => users.cell("created", before),
  }
  const withEmail = { ...parameters, emailKey: (wanted: Wanted) => users.cell("emailKey", wanted.emailKey) }
  const hasEmail = "u.tenant = :tenant AND u.created >= :since AND u.created < :before AND u.emailKey = :emailKey"
  const select = (what: string) => users.selectFrom("u").select(what)
  const userWithEmail = statement<UserRow, Wanted>(select(reader.listedColumns("u")).where(hasEmail), withEmail)
  const countWithEmail = statement<UserRow, Wanted>(select("COUNT(*)").where(hasEmail), withEmail)
  // Users that are being deleted are counted too, and subtracted afterwards.
  const countCreated = countAlong(database, walks.usersByCreation, { alias: "u" })
  const countDeleted = along<"users", Wanted>(database, walks.usersBeingDeleted, {
    ...{ alias: "u", select: "COUNT(*)", from: ["deleted"], withDeleted: true, isOrdered: false },
    // PostgreSQL expects few rows by the first condition. The CASE prevents the use of other indexes.
    where:
      "u.deleted IS NOT NULL AND" +
      " CASE WHEN u.tenant = :tenant AND u.created >= :since AND u.created < :before THEN 1 ELSE 0 END = 1",
    parameters,
  })
  const pageOfRange = userRanges(database, reader, tokens)
  const pageOfProvider = usersOfProvider(database, reader, tokens)
  const usersWithEmail = async (caller: Caller, wanted: Wanted) => {
    if (wanted.emailKey === undefined) return []
    const rows = await database.olderReads(caller).read(userWithEmail, wanted)
    return users.readable(rows, reader.listed)
  }
  async function pageOf(caller: Caller, filter: UserFilter, page: PageRequest): Promise<Page<ListedUser>> {
    const list = ["users", caller.tenant, JSON.stringify(filter)]
    if (filter.provider !== undefined) return pageOfProvider(caller, list, filter.provider, page)
    const range = filter.email === undefined ? rangeOf(filter) : undefined
    if (range !== undefined) return pageOfRange(caller, list, range, page)
    // Such a list has one page, so no token is of it.
    if (page.token !== undefined) tokens.open(list, page.token)
    return { items: filter.email === undefined ? [] : await usersWithEmail(caller, wantedBy(caller, filter)) }
  }

  return {
    async list(caller, filter, page) {
      checkFilters(filter)
      const isWanted = ({ disabled }: ListedUser) =>
        filter.disabled === undefined || (disabled !== undefined) === filter.disabled
      const { items, nextToken } = await pageOf(caller, filter, page)
      return { items: items.filter(isWanted), nextToken }
    },

    async count(caller, filter) {
      const wanted = wantedBy(caller, filter)
      if (filter.email !== undefined && wanted.emailKey === undefined) return 0
      const sql = database.olderReads(caller, "scan")
      if (wanted.emailKey !== undefined) return Number((await sql.read(countWithEmail, wanted))[0]?.[0])
      const [created, deleted] = [
        await countCreated(sql, wanted),
        await sql.read(countDeleted, { ...wanted, from: { deleted: firstTime } }),
      ]
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
