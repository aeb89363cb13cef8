import { type BulkName, bulkNames } from "../store/sql/index.js"
import type { Surplus } from "./copy.js"

/** One of how many rows of a table a run may delete without being asked. */
const oneOf = 10

/**
 * Returns why a run must not delete what only the tenant has: it would delete more than a tenth of a table, or all of it.
 * Undefined if it may. A source that hides rows looks like one that has no more. Rows that have expired do not count: nobody
 * misses them.
 *
 * @param rows The number of rows in each table of the source.
 */
export function refusedDeletion(
  counted: Readonly<Record<BulkName, Surplus>>,
  rows: Readonly<Record<string, number>>,
): string | undefined {
  const tables = bulkNames.flatMap((name) => {
    const { held, surplus } = counted[name]
    const isMuch = surplus * oneOf > held || (surplus > 0 && surplus === held)
    return isMuch ? [`${name} (${rows[name]} in the source, ${held} in the tenant, ${surplus} to delete)`] : []
  })
  if (tables.length === 0) return undefined
  return `--delete would delete more than a tenth, or all, of ${tables.join(", ")}, not counting what has expired`
}
