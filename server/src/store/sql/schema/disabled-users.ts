import type { Dialect } from "./dialect.js"

/**
 * Returns the condition that a user is not disabled. It needs no write when the time of a user ends. The clock of the
 * database decides.
 *
 * @param alias the alias of `users`.
 */
export function isEnabled(alias: string, { now }: Dialect): string {
  return `(${alias}.disabled IS NULL OR ${alias}.disabled_until <= ${now})`
}
