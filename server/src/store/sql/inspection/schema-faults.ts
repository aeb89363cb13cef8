import { type DataSource, type EntityMetadata, type QueryRunner, type Table, TableColumn } from "typeorm"
import type { Database } from "../database.js"

type Column = EntityMetadata["columns"][number]

/**
 * Returns where the tables in the database are not those that the entities declare, and that the migrations make: tables, columns with
 * their types, collations and defaults, keys, indexes, and triggers. What others have added is a fault only if no row could be inserted.
 * Changes nothing.
 *
 * @param hidden The tables that this user may not see as a whole, about which nothing is said.
 */
export function schemaFaults({ dataSource, dialect, withQueryRunner }: Database, hidden: ReadonlySet<string>) {
  return withQueryRunner(async (runner): Promise<string[]> => {
    const declared = dataSource.entityMetadatas.filter(({ tableName }) => !hidden.has(tableName))
    const found = await runner.getTables(declared.map(({ tableName }) => tableName))
    const collations = await collationsOf(runner, dialect.currentSchema)
    const triggers = hidden.size > 0 ? [] : await missingTriggers(runner, dialect.triggers)
    const faults = declared.flatMap((metadata) => {
      const table = found.find(({ name }) => name.split(".").at(-1) === metadata.tableName)
      return table === undefined ? [`${metadata.tableName} is missing`] : faultsOf(metadata, table, collations)
    })
    return [...faults, ...triggers.map((name) => `the trigger ${name} is missing or off`)]
  })
}

/** The collation of each column, by `TABLE.COLUMN`; null where it is the database's. Undefined where columns have none. */
type Collations = ReadonlyMap<string, string | null> | undefined

async function collationsOf(runner: QueryRunner, currentSchema: string | undefined): Promise<Collations> {
  if (currentSchema === undefined) return undefined
  const rows: { name: string; collated: string | null }[] = await runner.query(
    `SELECT CONCAT(table_name, '.', column_name) AS name, collation_name AS collated
     FROM information_schema.columns WHERE table_schema = ${currentSchema}`,
  )
  return new Map(rows.map(({ name, collated }) => [name, collated]))
}

async function missingTriggers(
  runner: QueryRunner,
  { names, query }: Database["dialect"]["triggers"],
): Promise<string[]> {
  if (names.length === 0) return []
  const rows: { name: string }[] = await runner.query(query)
  return names.filter((name) => !rows.some((row) => row.name === name))
}

function faultsOf(metadata: EntityMetadata, table: Table, collations: Collations): string[] {
  const { tableName, columns, indices, foreignKeys, dataSource } = metadata
  const { driver } = dataSource
  if (driver.options.type === "mysql") {
    // TypeORM leaves out the usual length where the schema has not the name in the URL, as on Vitess.
    for (const column of table.columns) column.length ||= String(driver.dataTypeDefaults[column.type]?.length ?? "")
  }
  const columnIn = ({ databaseName }: Column) => table.columns.find(({ name }) => name === databaseName)
  const changed = driver.findChangedColumns(table.columns, columns)
  const ofColumns = columns.flatMap((column) => {
    const is = columnIn(column)
    const name = `${tableName}.${column.databaseName}`
    const must = textOf(dataSource, declaredColumn(dataSource, column), column.collation)
    if (is === undefined) return [`${name} is missing, and must be ${must}`]
    const collation = collations?.get(name)
    const isCollated = collations === undefined || (collation ?? undefined) === column.collation
    if (isCollated && !changed.includes(column)) return []
    return [`${name} is ${textOf(dataSource, is, collation)}, and must be ${must}`]
  })
  const isDeclared = ({ name }: TableColumn) => columns.some(({ databaseName }) => databaseName === name)
  const ofOthers = table.columns
    .filter((column) => !isDeclared(column) && !column.isNullable && !column.isGenerated && column.default == null)
    .map(({ name }) => `${tableName}.${name} is not of Authwire, and has no default`)
  const ofIndexes = indices
    .filter(({ name, isUnique, columns }) => {
      const index = table.indices.find((one) => one.name === name)
      // TypeORM does not know the order of the columns in PostgreSQL.
      const names = new Set(columns.map(({ databaseName }) => databaseName))
      const isSame = index && names.symmetricDifference(new Set(index.columnNames)).size === 0
      return !isSame || index.isUnique !== isUnique
    })
    .map(({ name, isUnique, columns }) => {
      const names = listOf(columns.map(({ databaseName }) => databaseName))
      return `${tableName} needs CREATE ${isUnique ? "UNIQUE " : ""}INDEX ${name} ON ${tableName} (${names})`
    })
  const ofKeys = foreignKeys
    .filter(({ columnNames }) => !table.foreignKeys.some((key) => listOf(key.columnNames) === listOf(columnNames)))
    .map(({ columnNames, referencedColumnNames, referencedEntityMetadata: { tableName: target } }) => {
      return `${tableName} needs FOREIGN KEY (${listOf(columnNames)}) REFERENCES ${target} (${listOf(referencedColumnNames)})`
    })
  return [...ofColumns, ...ofOthers, ...ofIndexes, ...ofKeys]
}

const listOf = (names: readonly string[]) => names.join(", ")

function declaredColumn({ driver }: DataSource, column: Column): TableColumn {
  const { databaseName: name, precision, unsigned, isNullable, isGenerated, isPrimary } = column
  return new TableColumn({
    ...{ name, type: driver.normalizeType(column), length: driver.getColumnLength(column) },
    ...{ precision: precision ?? null, unsigned, isNullable, isGenerated, isPrimary, default: column.default },
  })
}

function textOf({ driver }: DataSource, column: TableColumn, collation?: string | null): string {
  const { isNullable, isGenerated, isPrimary, unsigned } = column
  return [
    driver.createFullType(column),
    unsigned ? "UNSIGNED" : "",
    collation ? `COLLATE ${collation}` : "",
    isNullable ? "NULL" : "NOT NULL",
    isGenerated ? "with a counter" : column.default == null ? "" : "with a default",
    isPrimary ? "in the primary key" : "",
  ]
    .filter(Boolean)
    .join(" ")
}
