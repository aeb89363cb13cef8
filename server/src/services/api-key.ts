import type { ApiKeyService } from "@authwire/proto"
import { formatKey, hashSecret, newKey } from "../auth/api-key.js"
import { scopePresets } from "../auth/scope-presets.js"
import { areScopes, requireScope, scopes } from "../auth/scopes.js"
import { invalidField } from "../errors/failure.js"
import type { Call, Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { fromApiKey } from "./wire/api-key.js"
import { toDate, toPage } from "./wire/values.js"

/** Creates the service for the API keys of the caller's tenant. */
export function apiKeyService({ apiKeys, now }: Pick<Store, "apiKeys" | "now">): Implementation<typeof ApiKeyService> {
  const newKeyFor = newKeys()
  return {
    async getCurrentApiKey(_, { tenant }, { identity, owner }) {
      const held = ["all", ...scopes].filter((scope) => identity?.hasScope(scope))
      const presets = scopePresets.map((preset) => ({ ...preset, scopes: [...preset.scopes] }))
      return { id: owner.keyId ?? "", tenant, scopes: held, presets }
    },
    async listApiKeys(request, caller) {
      const { items, nextToken } = await apiKeys.page(caller, toPage(request))
      return { apiKeys: items.map(fromApiKey), nextPageToken: nextToken ?? "" }
    },
    async createApiKey({ name, scopes: given, expireTime }, caller, call) {
      const { key, text } = newKeyFor(call, name, given, expireTime && toDate(expireTime, "expire_time"))
      const row = { ...key, tenant: caller.tenant, created: new Date(now()) }
      return { apiKey: fromApiKey(await apiKeys.create(caller, row, { isLimited: true })), key: text }
    },
    async revokeApiKey({ id }, caller) {
      const revoked = await apiKeys.revoke(caller, id, new Date(now()), caller.tenant)
      return revoked === null ? {} : { apiKey: fromApiKey(revoked) }
    },
  }
}

/** A key that is about to be stored, and its text, which only its holder gets. */
interface NewKey {
  readonly key: Pick<ApiKey, "id" | "name" | "scopes" | "secretHash" | "expires">
  readonly text: string
}

/** Returns what makes the key of a call: the same one, if the work of the call runs again. */
export function newKeys() {
  const made = new WeakMap<object, ReturnType<typeof newKey>>()

  /**
   * Makes a key. Throws INVALID_FIELD (`scopes`) and, because nobody can give more than they have, SCOPE_MISSING, and INVALID_FIELD
   * (`expire_time`) if the caller's key ends earlier.
   *
   * @param expires When the key ends. Default: when the caller's key does.
   */
  return (call: Pick<Call, "identity">, name: string, given: string[], expires = call.identity?.expires): NewKey => {
    const { identity } = call
    if (identity?.expires !== undefined && expires !== undefined && expires > identity.expires)
      throw invalidField("expire_time", "must not be later than the end of the calling key")
    for (const [index, scope] of given.entries()) {
      if (!areScopes([scope])) {
        throw invalidField(`scopes[${index}]`, `must be one of all, ${scopes.join(", ")}`)
      }
      requireScope(identity, scope)
    }
    const parts = made.get(call) ?? newKey()
    made.set(call, parts)
    return {
      key: { id: parts.id, name, scopes: given, secretHash: hashSecret(parts.secret), expires },
      text: formatKey(parts),
    }
  }
}
