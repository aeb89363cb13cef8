import type { AccountService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { AccountStore } from "../store/store.js"
import { found, fromAccount, toAccount } from "./wire.js"

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
  }
}
