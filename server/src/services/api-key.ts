import type { ApiKeyService } from "@authwire/proto"
import { formatKey, hashSecret, newKey } from "../auth/api-key.js"
import { areScopes, requireScope, scopes } from "../auth/scopes.js"
import { Failure } from "../errors/failure.js"
import type { Implementation } from "../rpc/call.js"
import type { TenantApiKeyStore } from "../store/store.js"
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
      for (const [index, scope] of given.entries()) {
        if (!areScopes([scope])) {
          const violations = [{ field: `scopes[${index}]`, description: `must be one of all, ${scopes.join(", ")}` }]
          throw new Failure("INVALID_FIELD", { violations })
        }
        requireScope(call.identity, scope)
      }
      const parts = newKey()
      const created = await tenantApiKeys.create(call, {
        id: parts.id,
        name,
        scopes: given,
        secretHash: hashSecret(parts.secret),
        expires: expireTime && toDate(expireTime, "expire_time"),
      })
      return { apiKey: fromApiKey(created), key: formatKey(parts) }
    },
    async revokeApiKey({ id }, call) {
      const revoked = await tenantApiKeys.revoke(call, id)
      return revoked === null ? {} : { apiKey: fromApiKey(revoked) }
    },
  }
}
