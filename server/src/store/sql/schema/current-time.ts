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

/** The beginning of the current day in UTC. */
const today: Record<Engine, string> = {
  mysql: "UTC_DATE()",
  mariadb: "UTC_DATE()",
  postgres: "date_trunc('day', clock_timestamp(), 'UTC')",
  sqlite: "strftime('%Y-%m-%d %H:%M:%f', 'now', 'start of day')",
}

/** Returns when the current UTC day of the database began, as an SQL expression. Its cell is that of a time column. */
export function currentDay(engine: Engine): string {
  return today[engine]
}
