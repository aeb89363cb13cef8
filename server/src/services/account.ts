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
    async linkAccount(request, call) {
      const { etag } = request
      if (etag !== undefined) requireScope(call.identity, "accounts:read")
      return { account: fromAccount(await accounts.link(call, toAccount(request), { etag })) }
    },
    async unlinkAccount(request, call) {
      const { revokeSessions } = request
      if (revokeSessions) requireScope(call.identity, "sessions:write")
      const unlinked = await accounts.unlink(call, request, { revokeSessions })
      const { revokedSessions = 0, ...account } = found(unlinked, "ACCOUNT_NOT_FOUND")
      return { account: fromAccount(account), revokedSessions: BigInt(revokedSessions) }
    },
    async getAccount(request, call) {
      return { account: fromAccount(found(await accounts.get(call, request), "ACCOUNT_NOT_FOUND")) }
    },
    async listAccountsByUser(request, call) {
      const { userId, includeTokens: tokens } = request
      if (tokens) requireScope(call.identity, "accounts:read")
      const { items, nextToken } = await accounts.listByUser(call, userId, toPage(request), { tokens })
      return { accounts: items.map((account) => fromAccount(account, { tokens })), nextPageToken: nextToken ?? "" }
    },
    async getAccessToken(request, call) {
      // Of the calls that wait for the same refresh, one counts as a write.
      call.hasWritten = false
      const asked = () => {
        call.hasWritten = true
      }
      // A provider that is slow must not keep other calls waiting.
      const waits = () => call.leaveLimit()
      const wanted = { minValidityMs: toMinValidity(request), force: request.force }
      return fromAccessToken(await accessTokens.get(call, toUserAccountKey(request), wanted, asked, waits))
    },
  }
}
