import type { Database } from "./database.js"
import type { DatabaseFacts } from "./schema/dialect.js"

export type { DatabaseFacts }

/** Reads the facts of a database. Changes nothing in it. */
export function databaseFacts({ dialect, withQueryRunner }: Database): Promise<DatabaseFacts> {
  return withQueryRunner(dialect.facts)
}
