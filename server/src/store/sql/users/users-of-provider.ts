import type { Caller } from "../../store.js"
import type { ListedUser, PageRequest } from "../../types.js"
import type { Database } from "../database.js"
import { readPage, rowsPerStatement } from "../query/page.js"
import { type Cell, statement } from "../query/statement.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import type { AccountRow } from "../schema/rows.js"
import type { UserReader } from "./user-reader.js"

/** The account after which a page begins, in a page token. */
export type AccountPosition = [providerAccountId: string]

interface Position {
  accountId: string
}

interface Entry extends Position {
  /** Undefined if the user is listed with another account, is being deleted or cannot be read. */
  user: ListedUser | undefined
}

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
export function usersOfProvider(database: Database, reader: UserReader) {
  const { users, accounts } = database.tables
  const userOf = (cells: Cell[]): ListedUser => ({ ...reader.user(cells), ...timesOf(users, cells, reader.width) })
  const firstAccountId =
    "(SELECT o.provider_account_id FROM accounts o" +
    " WHERE o.tenant = a.tenant AND o.user_id = a.userId AND o.provider = a.provider" +
    " ORDER BY o.tenant, o.user_id, o.provider, o.provider_account_id LIMIT 1)"
  const following = statement<AccountRow, Wanted>(
    accounts
      .selectFrom("a")
      .leftJoin(users.entity, "u", "u.tenant = a.tenant AND u.id = a.userId")
      .select(`${columnsWithTimes(reader, "u")}, a.providerAccountId, ${firstAccountId}`)
      .where("a.tenant = :tenant AND a.provider = :provider AND a.providerAccountId > :after")
      .orderBy("a.providerAccountId")
      .limit(rowsPerStatement),
    {
      tenant: ({ tenant }) => accounts.cell("tenant", tenant),
      provider: ({ provider }) => accounts.cell("provider", provider),
      after: ({ after }) => accounts.cell("providerAccountId", after),
    },
  )
  const entryOf = (cells: Cell[]): Entry => {
    const [accountId, firstId] = cells.slice(-2).map((cell) => accounts.value("providerAccountId", cell as Cell))
    const isListed = accountId === firstId && users.valueIn("id", cells) !== undefined
    return { accountId: accountId as string, user: isListed ? users.readable([cells], userOf)[0] : undefined }
  }

  return async (
    caller: Caller,
    provider: string,
    { size, position: [after] = [""] }: Pick<PageRequest, "size"> & { position: AccountPosition | undefined },
  ) => {
    const { tenant } = caller
    const sql = database.olderReads(caller)
    const { items, next } = await readPage<Entry, Position>({
      size,
      // No account id is empty.
      after: { accountId: after },
      read: ({ accountId }) => sql.read(following, { tenant, provider, after: accountId }),
      itemOf: entryOf,
    })
    const token: AccountPosition | undefined = next && [next.accountId]
    return { items: items.flatMap(({ user }) => user ?? []), next: token }
  }
}
