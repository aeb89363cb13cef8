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

/**
 * Returns the statements with which TypeORM would make the tables those of the entities. It compares computed columns only
 * with a table of its own, so the only such column becomes an ordinary one first.
 */
export async function undeclaredParts({ target, query }: TestDatabase, { dataSource }: Database): Promise<string[]> {
  if (target === "mysql" || target === "mariadb") {
    const computed = `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = DATABASE() AND extra LIKE '%GENERATED%' AND extra NOT LIKE 'DEFAULT%'`
    const names = (await query(computed)).map(({ name }) => String(name))
    if (names.join() !== "name_key") throw new Error(`the computed columns are ${names}`)
    await query("ALTER TABLE users MODIFY COLUMN name_key VARBINARY(512) NULL")
  }
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log()
  return upQueries.map(({ query }) => query)
}

/** Returns whether a time of the database is about the present one. SQLite stores text. */
export const isNow = (value: unknown) => {
  const moment = value instanceof Date ? value.getTime() : Date.parse(`${String(value).replace(" ", "T")}Z`)
  return Math.abs(Date.now() - moment) < 600_000
}
