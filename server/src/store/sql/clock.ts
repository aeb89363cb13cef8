import type { Database, Reads } from "./database.js"
import type { Cell, Statement } from "./query/statement.js"
import type { Engine } from "./schema/column-types.js"

/** The present moment in UTC, to the millisecond, as each database says it. */
const present: Record<Engine, string> = {
  mysql: "UTC_TIMESTAMP(3)",
  mariadb: "UTC_TIMESTAMP(3)",
  postgres: "date_trunc('milliseconds', clock_timestamp())",
  sqlite: "strftime('%Y-%m-%d %H:%M:%f', 'now')",
}

/** The clock of the database as an expression of SQL; its cell is that of a time. */
export function presentOf(engine: Engine): string {
  return present[engine]
}

/** Reads the clock of the database, the one that all processes share. */
export function databaseClock({ engine, tables: { leases } }: Database): (sql: Reads) => Promise<Date> {
  const select: Statement<unknown> = { sql: `SELECT ${present[engine]}`, cells: () => [] }
  return async (sql) => {
    const [cells] = await sql.read(select, undefined)
    return leases.value("until", (cells as Cell[])[0] as Cell)
  }
}
