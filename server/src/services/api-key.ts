import type { ApiKeyService } from "@authwire/proto"
import { scopes } from "../auth/scopes.js"
import type { Implementation } from "../rpc/call.js"

/** Creates the service that says what the caller's API key allows. */
export function apiKeyService(): Implementation<typeof ApiKeyService> {
  return {
    async getCurrentApiKey(_, { identity, owner, tenant }) {
      return { id: owner.keyId ?? "", tenant, scopes: scopes.filter((scope) => identity?.hasScope(scope)) }
    },
  }
}
