import type { Caller } from "../../store.js"
import type { PageRequest } from "../../types.js"
import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import { listAlong } from "../walks/list.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { walks } from "../walks/walks.js"
import type { UserReader } from "./user-reader.js"

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
  const list = listAlong(database, walks.accountsOfProvider, {
    alias: "a",
    select: `${reader.listedColumns("u")}, ${firstAccountId}`,
    join: (select) => select.leftJoin(users.entity, "u", "u.tenant = a.tenant AND u.id = a.userId"),
    rows: { table: users, alias: "u" },
  })
  const accountIn = (cell: Cell | undefined) => accounts.value("providerAccountId", cell as Cell)

  return (caller: Caller, name: readonly string[], provider: string, page: PageRequest) =>
    list(page, {
      tokens,
      name,
      first: { providerAccountId: "" },
      values: { of: { tenant: caller.tenant, provider } },
      // The user may be listed with another account, or is being deleted.
      itemOf(cells) {
        const isListed = accountIn(cells.at(-2)) === accountIn(cells.at(-1)) && users.valueIn("id", cells) !== undefined
        return isListed ? reader.listed(cells) : undefined
      },
      reads: database.olderReads(caller),
      signal: caller.signal,
    })
}
