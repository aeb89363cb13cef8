import type { Caller } from "../../store.js"
import type { ListedUser, PageRequest } from "../../types.js"
import type { Database } from "../database.js"
import { readList, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, statement } from "../query/statement.js"
import type { AccountRow } from "../schema/rows.js"
import type { UserReader } from "./user-reader.js"

interface Wanted {
  tenant: string
  provider: string
  after: string
}

/**
 * Creates the pages of users who have an account of a provider. The accounts are read in the order of the primary key. A
 * user is listed with the first of several accounts. The others count as entries of their pages, so that a user with very
 * many accounts makes no page read more than its size.
 */
export function usersOfProvider(database: Database, reader: UserReader, tokens: PageTokens) {
  const { users, accounts } = database.tables
  const firstAccountId =
    "(SELECT o.provider_account_id FROM accounts o" +
    " WHERE o.tenant = a.tenant AND o.user_id = a.userId AND o.provider = a.provider" +
    " ORDER BY o.tenant, o.user_id, o.provider, o.provider_account_id LIMIT 1)"
  const following = statement<AccountRow, Wanted>(
    accounts
      .selectFrom("a")
      .leftJoin(users.entity, "u", "u.tenant = a.tenant AND u.id = a.userId")
      .select(`${reader.listedColumns("u")}, a.providerAccountId, ${firstAccountId}`)
      .where("a.tenant = :tenant AND a.provider = :provider AND a.providerAccountId > :after")
      .orderBy("a.providerAccountId")
      .limit(rowsPerStatement),
    {
      tenant: ({ tenant }) => accounts.cell("tenant", tenant),
      provider: ({ provider }) => accounts.cell("provider", provider),
      after: ({ after }) => accounts.cell("providerAccountId", after),
    },
  )
  const accountIn = (cell: Cell | undefined) => accounts.value("providerAccountId", cell as Cell)

  return (caller: Caller, name: readonly string[], provider: string, page: PageRequest) => {
    const { tenant } = caller
    const sql = database.olderReads(caller)
    return readList<ListedUser, [accountId: string]>(page, {
      tokens,
      name,
      first: [""],
      read: ([after]) => sql.read(following, { tenant, provider, after }),
      table: users,
      // The user may be listed with another account, or is being deleted.
      itemOf(cells) {
        const isListed = accountIn(cells.at(-2)) === accountIn(cells.at(-1)) && users.valueIn("id", cells) !== undefined
        return isListed ? reader.listed(cells) : undefined
      },
      positionOf: (cells) => [accountIn(cells.at(-2))],
    })
  }
}
