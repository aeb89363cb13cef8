import { Failure } from "../rpc/errors.js"
import type { Identity } from "../rpc/identity.js"

/** Throws SCOPE_MISSING unless the caller's key has the scope. */
export function requireScope(identity: Identity | undefined, scope: string): void {
  if (identity?.hasScope(scope) === true) return
  throw new Failure("SCOPE_MISSING", { metadata: { scope }, message: `the API key lacks the scope ${scope}` })
}
