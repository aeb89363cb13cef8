import type { ApiKeyService } from "@authwire/proto"
import { scopes } from "../auth/scopes.js"
import type { Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import { newKeyFor } from "./new-key.js"
import { fromApiKey } from "./wire/api-key.js"
import { toDate, toPage } from "./wire/values.js"

/** Creates the service for the API keys of the caller's tenant. */
export function apiKeyService({ apiKeys, now }: Pick<Store, "apiKeys" | "now">): Implementation<typeof ApiKeyService> {
  return {
    async getCurrentApiKey(_, { identity, owner, tenant }) {
      return { id: owner.keyId ?? "", tenant, scopes: ["all", ...scopes].filter((scope) => identity?.hasScope(scope)) }
    },
    async listApiKeys(request, call) {
      const { items, nextToken } = await apiKeys.page(call, toPage(request))
      return { apiKeys: items.map(fromApiKey), nextPageToken: nextToken ?? "" }
    },
    async createApiKey({ name, scopes: given, expireTime }, call) {
      const { key, text } = newKeyFor(call, name, given)
      const expires = expireTime && toDate(expireTime, "expire_time")
      const row = { ...key, tenant: call.tenant, created: new Date(now()), expires }
      return { apiKey: fromApiKey(await apiKeys.create(call, row, { isLimited: true })), key: text }
    },
    async revokeApiKey({ id }, call) {
      const revoked = await apiKeys.revoke(call, id, new Date(now()), call.tenant)
      return revoked === null ? {} : { apiKey: fromApiKey(revoked) }
    },
  }
}
