import { accessSync, constants } from "node:fs"
import { dirname } from "node:path"
import { type DataSource, QueryFailedError, type QueryRunner } from "typeorm"
import type { MissingRight } from "../schema/dialect.js"

const ofTables = ["SELECT", "INSERT", "UPDATE", "DELETE"]

/** Returns the rights that the service uses, on each table. */
function neededRights({ entityMetadatas, options }: DataSource): MissingRight[] {
  const all = entityMetadatas.flatMap(({ tableName: on }) => ofTables.map((right) => ({ right, on })))
  return [...all, { right: "SELECT", on: String(options.migrationsTableName) }]
}

/** ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR and ER_DBACCESS_DENIED_ERROR. */
const denied: ReadonlySet<unknown> = new Set([1142, 1143, 1044])

/**
 * Asks MySQL or MariaDB for the plan of a statement of each kind on each table: it needs the rights of the statement, which does not run.
 * No view answers for roles and patterns.
 */
export async function rightsByPlans(runner: QueryRunner): Promise<MissingRight[]> {
  await runner.query("SET SESSION lock_wait_timeout = 1")
  const missing: MissingRight[] = []
  for (const { right, on } of neededRights(runner.dataSource)) {
    try {
      await runner.query(`EXPLAIN ${plannedStatement(runner, right, on)}`)
    } catch (error) {
      const { errno } = (error instanceof QueryFailedError ? error.driverError : {}) as { errno?: number }
      if (denied.has(errno)) missing.push({ right, on })
    }
  }
  return missing
}

function plannedStatement({ dataSource }: QueryRunner, right: string, on: string): string {
  const table = dataSource.driver.escape(on)
  const { columns = [] } = dataSource.entityMetadatas.find(({ tableName }) => tableName === on) ?? {}
  const column = dataSource.driver.escape(columns[0]?.databaseName ?? "name")
  if (right === "INSERT") return `INSERT INTO ${table} () VALUES ()`
  if (right === "UPDATE") return `UPDATE ${table} SET ${column} = ''`
  return right === "DELETE" ? `DELETE FROM ${table}` : `SELECT ${column} FROM ${table}`
}

/** Returns the path of a database of SQLite; undefined for one in memory. */
export function fileOf({ options }: DataSource): string | undefined {
  return typeof options.database === "string" && options.database !== ":memory:" ? options.database : undefined
}

/** Asks the system whether this user may write the file of SQLite, and its folder, where SQLite writes further ones. */
export async function rightsOfFile({ dataSource }: QueryRunner): Promise<MissingRight[]> {
  const file = fileOf(dataSource)
  return (file === undefined ? [] : [file, dirname(file)]).flatMap((on) => {
    try {
      accessSync(on, constants.W_OK)
      return []
    } catch {
      return [{ right: "WRITE", on }]
    }
  })
}

/** Asks PostgreSQL for the rights on the tables that exist, and on the sequences of their columns. */
export async function rightsByFunctions(runner: QueryRunner): Promise<MissingRight[]> {
  const needed = neededRights(runner.dataSource)
  const counted = runner.dataSource.entityMetadatas.flatMap(({ tableName, columns }) =>
    columns.filter(({ isGenerated }) => isGenerated).map(({ databaseName }) => [tableName, databaseName] as const),
  )
  return runner.query(
    `SELECT "right", "on" FROM unnest($1::text[], $2::text[]) AS needed ("right", "on")
     WHERE NOT has_table_privilege(to_regclass(quote_ident("on")), "right")
     UNION ALL
     SELECT 'USAGE', 'SEQUENCE ' || sequence
     FROM unnest($3::text[], $4::text[]) AS counted (name, col),
       pg_get_serial_sequence(to_regclass(quote_ident(name))::text, col) AS sequence
     WHERE NOT has_sequence_privilege(sequence, 'USAGE, UPDATE')`,
    [
      needed.map(({ right }) => right),
      needed.map(({ on }) => on),
      counted.map(([name]) => name),
      counted.map(([, column]) => column),
    ],
  )
}
