import * as schema from "@authwire/proto"
import { scope as scopeOption } from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import { type DescMethod, type DescService, getOption } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt"
import { Failure } from "../errors/failure.js"
import type { Identity } from "./identity.js"

/** Every method of the schema, from its exports, and Envoy's Authorization, which is about sessions too. */
export const ownMethods: readonly DescMethod[] = [
  ...Object.values(schema).filter((one): one is typeof one & DescService => "kind" in one && one.kind === "service"),
  Authorization,
].flatMap(({ methods }) => methods)

/** Returns whether a method is one of these. Health and reflection are not, because they serve to watch the service. */
export function isOwnMethod({ parent }: DescMethod): boolean {
  return parent.file.proto.package.startsWith("authwire.") || parent === Authorization
}

/** The scope of methods that are open to every key. */
export const anyScope = "any"

/**
 * Returns the scope that a method requires according to the schema; undefined for a method that is open to all clients,
 * as those of health and reflection are. Throws for a method of the schema that declares no scope.
 */
export function scopeOf(method: DescMethod): string | undefined {
  const scope = getOption(method, scopeOption)
  if (scope !== "") return scope
  if (isOwnMethod(method)) {
    throw new Error(`${method.parent.typeName}/${method.name} has no option (scope)`)
  }
  return undefined
}

/** Returns whether a method writes or issues something: it has side effects, and a scope for more than reading. */
export function isWrite(method: DescMethod): boolean {
  const scope = scopeOf(method)
  if (scope === undefined || scope === anyScope || /:(read|introspect)$/.test(scope)) return false
  return method.idempotency !== Level.NO_SIDE_EFFECTS
}

/** Returns whether a method only issues tokens, and changes nothing that is stored. */
export function issuesTokens(method: DescMethod): boolean {
  return scopeOf(method)?.startsWith("tokens:") === true
}

/** Throws SCOPE_MISSING unless the caller's key has the scope. */
export function requireScope(identity: Identity | undefined, scope: string): void {
  if (identity?.hasScope(scope) !== true) throw scopeMissing(scope)
}

export function scopeMissing(scope: string): Failure {
  return new Failure("SCOPE_MISSING", { metadata: { scope }, message: `the API key lacks the scope ${scope}` })
}

/** Every scope that a key can have, besides `all`. */
export const scopes: readonly string[] = [...new Set(ownMethods.map((method) => getOption(method, scopeOption)))]
  .filter((scope) => scope !== anyScope && scope !== "")
  .sort()

/** Returns whether a list has at least one scope, and only scopes that a key can have. */
export function areScopes(list: readonly unknown[]): boolean {
  return list.length > 0 && list.every((scope) => scope === "all" || scopes.includes(scope as string))
}
