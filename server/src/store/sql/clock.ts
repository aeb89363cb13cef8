import type { Cell, Statement, Statements } from "./query/statement.js"
import type { Engine } from "./schema/column-types.js"
import { currentTime } from "./schema/current-time.js"
import type { Tables } from "./schema/tables.js"

/** Returns a function that reads the database's clock, which all processes share. */
export function databaseClock({
  engine,
  tables: { leases },
}: {
  engine: Engine
  tables: Pick<Tables, "leases">
}): (sql: Pick<Statements, "read">) => Promise<Date> {
  const select: Statement<unknown> = { sql: `SELECT ${currentTime(engine)}`, cells: () => [] }
  return async (sql) => {
    const [cells] = await sql.read(select, undefined)
    return leases.value("until", (cells as Cell[])[0] as Cell)
  }
}
