import type { Key } from "./key.js"

/**
 * Groups keys by their certificate name. The keys of one name are in the order in which they are used: first those of
 * the configuration, then the newest.
 */
export function keysByCertificateName(keys: Iterable<Key>): Map<string, Key[]> {
  const named = [...keys].filter(({ certificateName }) => certificateName !== undefined)
  named.sort((one, other) => other.created - one.created || (one.keyId < other.keyId ? -1 : 1))
  return Map.groupBy(named, ({ certificateName = "" }) => certificateName)
}

/** Returns whether all keys belong to the same tenant. Otherwise the choice between them would decide the tenant. */
export function areOfOneTenant(keys: readonly Key[]): boolean {
  return keys.every(({ tenant }) => tenant === keys[0]?.tenant)
}
