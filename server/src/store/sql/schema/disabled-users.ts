import type { Engine } from "./column-types.js"
import { currentTime } from "./current-time.js"

/**
 * Returns the condition that a user is not disabled. It needs no write when the time of a user ends. The clock of the
 * database decides.
 *
 * @param alias the alias of `users`.
 */
export function isEnabled(alias: string, engine: Engine): string {
  return `(${alias}.disabled IS NULL OR ${alias}.disabled_until <= ${currentTime(engine)})`
}
