import { formatKey, hashSecret, newKey } from "../auth/api-key.js"
import { areScopes, requireScope, scopes } from "../auth/scopes.js"
import { invalidField } from "../errors/failure.js"
import type { Call } from "../rpc/call.js"
import type { ApiKey } from "../store/types.js"

/** A key that is about to be stored, and its text, which only its holder gets. */
interface NewKey {
  readonly key: Pick<ApiKey, "id" | "name" | "scopes" | "secretHash">
  readonly text: string
}

/** Makes a key. Throws INVALID_FIELD (`scopes`) and, because nobody can give more than they have, SCOPE_MISSING. */
export function newKeyFor({ identity }: Pick<Call, "identity">, name: string, given: string[]): NewKey {
  for (const [index, scope] of given.entries()) {
    if (!areScopes([scope])) {
      throw invalidField(`scopes[${index}]`, `must be one of all, ${scopes.join(", ")}`)
    }
    requireScope(identity, scope)
  }
  const parts = newKey()
  return {
    key: { id: parts.id, name, scopes: given, secretHash: hashSecret(parts.secret) },
    text: formatKey(parts),
  }
}
