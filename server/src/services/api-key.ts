import type { ApiKeyService } from "@authwire/proto"
import { scopes } from "../auth/scopes.js"
import type { Implementation } from "../rpc/call.js"
import type { TenantApiKeyStore } from "../store/store.js"
import { newKeyFor } from "./new-key.js"
import { fromApiKey } from "./wire/api-key.js"
import { toDate, toPage } from "./wire/values.js"

/** Creates the service for the API keys of the caller's tenant. */
export function apiKeyService({
  tenantApiKeys,
}: {
  tenantApiKeys: TenantApiKeyStore
}): Implementation<typeof ApiKeyService> {
  return {
    async getCurrentApiKey(_, { identity, owner, tenant }) {
      return { id: owner.keyId ?? "", tenant, scopes: ["all", ...scopes].filter((scope) => identity?.hasScope(scope)) }
    },
    async listApiKeys(request, call) {
      const { items, nextToken } = await tenantApiKeys.list(call, toPage(request))
      return { apiKeys: items.map(fromApiKey), nextPageToken: nextToken ?? "" }
    },
    async createApiKey({ name, scopes: given, expireTime }, call) {
      const { key, text } = newKeyFor(call, name, given)
      const expires = expireTime && toDate(expireTime, "expire_time")
      const created = await tenantApiKeys.create(call, { ...key, expires })
      return { apiKey: fromApiKey(created), key: text }
    },
    async revokeApiKey({ id }, call) {
      const revoked = await tenantApiKeys.revoke(call, id)
      return revoked === null ? {} : { apiKey: fromApiKey(revoked) }
    },
  }
}
