import type { AccountService } from "@authwire/proto"
import { requireScope } from "../auth/scopes.js"
import type { AccessTokens } from "../provider-tokens/access-tokens.js"
import type { Implementation } from "../rpc/call.js"
import type { AccountStore } from "../store/store.js"
import { fromAccessToken, fromAccount, toAccount, toMinValidity, toUserAccountKey } from "./wire/account.js"
import { found, toPage } from "./wire/values.js"

/** Creates the service for the accounts of the store and their access tokens. */
export function accountService(deps: {
  accounts: AccountStore
  accessTokens: AccessTokens
}): Implementation<typeof AccountService> {
  const { accounts, accessTokens } = deps
  return {
    async linkAccount(request, caller, call) {
      const { etag } = request
      if (etag !== undefined) requireScope(call.identity, "accounts:read")
      return { account: fromAccount(await accounts.link(caller, toAccount(request), { etag })) }
    },
    async unlinkAccount(request, caller, call) {
      const { revokeSessions } = request
      if (revokeSessions) requireScope(call.identity, "sessions:write")
      const unlinked = await accounts.unlink(caller, request, { revokeSessions })
      const { revokedSessions = 0, ...account } = found(unlinked, "ACCOUNT_NOT_FOUND")
      return { account: fromAccount(account), revokedSessions: BigInt(revokedSessions) }
    },
    async getAccount(request, caller) {
      return { account: fromAccount(found(await accounts.get(caller, request), "ACCOUNT_NOT_FOUND")) }
    },
    async listAccountsByUser(request, caller, call) {
      const { userId, includeTokens: tokens } = request
      if (tokens) requireScope(call.identity, "accounts:read")
      const { items, nextToken } = await accounts.listByUser(caller, userId, toPage(request), { tokens })
      return { accounts: items.map((account) => fromAccount(account, { tokens })), nextPageToken: nextToken ?? "" }
    },
    async getAccessToken(request, caller, call) {
      // Of the calls that wait for the same refresh, one counts as a write.
      call.hasWritten = false
      const asked = () => {
        call.hasWritten = true
      }
      // A provider that is slow must not keep other calls waiting.
      const waits = () => call.leaveLimit()
      const wanted = { minValidityMs: toMinValidity(request), force: request.force }
      return fromAccessToken(await accessTokens.get(caller, toUserAccountKey(request), wanted, asked, waits))
    },
  }
}
