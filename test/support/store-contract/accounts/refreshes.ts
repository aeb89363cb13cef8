import type { Account } from "../../../../server/src/store/types.js"
import { anyone, type ContractContext, newAccount, newId, newUser } from "../context.js"

export const hour = 3_600_000

/** The columns of an account without a refresh. */
export const none = { refresh_holder: null, refresh_until: null, refresh_failure: null, mark: null }

/** The tokens of an account before its refresh. */
const old = {
  access_token: "a1",
  refresh_token: "r1",
  id_token: "i1",
  scope: "s1",
  expires_at: 1_000,
  expires_in: 60,
}

/** Returns functions that link accounts, begin their refreshes and read how these are. */
export function refreshes(context: ContractContext) {
  const linked = async (account: Partial<Account> = {}): Promise<Account> => {
    const user = await context.store.users.create(anyone, newUser())
    const given = newAccount(user.id, { ...old, token_type: "bearer", extra: { session_state: "x" }, ...account })
    return context.store.accounts.link(anyone, given)
  }
  const begin = (account: Account, holder = newId(), ms = hour, store = context.store) =>
    store.tokenRefreshes.begin(anyone, account, { holder, ms })
  /** Returns the state of the refresh as another process sees it. */
  const stateOf = async (account: Account) => (await context.other.tokenRefreshes.get(anyone, account))?.refresh
  /** Returns the columns of the refresh, or undefined if there is no such account. */
  const rowOf = async ({ providerAccountId }: Account) => {
    const where = "FROM accounts WHERE provider_account_id = ?"
    const select = "SELECT refresh_holder, refresh_until, refresh_failure, HEX(refresh_mark) AS mark"
    const [row] = await context.database.sql(`${select} ${where}`, [providerAccountId])
    // On SQLite HEX() of NULL is an empty string.
    if (row?.mark === "") row.mark = null
    return row
  }
  return { linked, begin, stateOf, rowOf }
}
