import type { Cell, Statement, Statements } from "./query/statement.js"
import type { Engine } from "./schema/column-types.js"
import type { Tables } from "./schema/table.js"

/** The current time in UTC with millisecond precision, as an SQL expression of each database. */
const present: Record<Engine, string> = {
  mysql: "UTC_TIMESTAMP(3)",
  mariadb: "UTC_TIMESTAMP(3)",
  postgres: "date_trunc('milliseconds', clock_timestamp())",
  sqlite: "strftime('%Y-%m-%d %H:%M:%f', 'now')",
}

/** Returns the current time of the database as an SQL expression. Its cell is that of a time column. */
export function currentTime(engine: Engine): string {
  return present[engine]
}

/** Returns a function that reads the database's clock, which all processes share. */
export function databaseClock({
  engine,
  tables: { leases },
}: {
  engine: Engine
  tables: Pick<Tables, "leases">
}): (sql: Pick<Statements, "read">) => Promise<Date> {
  const select: Statement<unknown> = { sql: `SELECT ${present[engine]}`, cells: () => [] }
  return async (sql) => {
    const [cells] = await sql.read(select, undefined)
    return leases.value("until", (cells as Cell[])[0] as Cell)
  }
}
