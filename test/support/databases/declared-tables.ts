import type { Database } from "../../../server/src/store/sql/index.js"
import type { DatabaseTarget, TestDatabase } from "./databases.js"

/** Returns the schema of a database, as an expression for the servers' views. */
export function schemaOf(target: DatabaseTarget): string {
  return target === "postgres" ? "current_schema()" : "DATABASE()"
}

/** Returns the names of all tables in the order of their UTF-16 code units. */
export async function tableNames({ target, query }: TestDatabase): Promise<string[]> {
  const sql =
    target === "sqlite"
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
      : `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ${schemaOf(target)}`
  // The servers sort "_" differently.
  return (await query(sql)).map(({ name }) => String(name)).sort()
}

/** Returns the statements with which TypeORM would make the tables those of the entities. */
export async function undeclaredParts({ dataSource }: Database): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log()
  return upQueries.map(({ query }) => query)
}

/** Returns whether a time of the database is about the present one. SQLite stores text. */
export const isNow = (value: unknown) => {
  const moment = value instanceof Date ? value.getTime() : Date.parse(`${String(value).replace(" ", "T")}Z`)
  return Math.abs(Date.now() - moment) < 600_000
}
