import type { AccountService } from "@authwire/proto"
import { requireScope } from "../auth/require-scope.js"
import type { Implementation } from "../rpc/call.js"
import type { AccountStore } from "../store/store.js"
import { found, fromAccount, toAccount, toPage } from "./wire.js"

/** The accounts of the store, on the wire. */
export function accountService(deps: { accounts: AccountStore }): Implementation<typeof AccountService> {
  const { accounts } = deps
  return {
    async linkAccount(request, call) {
      return { account: fromAccount(await accounts.link(call, toAccount(request))) }
    },
    async unlinkAccount(request, call) {
      return { account: fromAccount(found(await accounts.unlink(call, request), "ACCOUNT_NOT_FOUND")) }
    },
    async getAccount(request, call) {
      return { account: fromAccount(found(await accounts.get(call, request), "ACCOUNT_NOT_FOUND")) }
    },
    async listAccountsByUser(request, call) {
      const { userId, includeTokens: tokens } = request
      if (tokens) requireScope(call.identity, "accounts:read")
      const { items, nextToken } = await accounts.listByUser(call, userId, toPage(request), { tokens })
      return { accounts: items.map(fromAccount), nextPageToken: nextToken ?? "" }
    },
  }
}
