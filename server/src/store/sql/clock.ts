import type { Cell, Statement, Statements } from "./query/statement.js"
import type { Dialect } from "./schema/dialect.js"
import type { Tables } from "./schema/tables.js"

/** Returns a function that reads the database's clock, which all processes share. */
export function databaseClock({
  dialect,
  tables: { leases },
}: {
  dialect: Pick<Dialect, "now">
  tables: Pick<Tables, "leases">
}): (sql: Pick<Statements, "read">) => Promise<Date> {
  const select: Statement<unknown> = { sql: `SELECT ${dialect.now}`, cells: () => [] }
  return async (sql) => {
    const [cells] = await sql.read(select, undefined)
    return leases.value("until", (cells as Cell[])[0] as Cell)
  }
}
