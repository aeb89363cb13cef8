import type { Engine } from "./column-types.js"

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
