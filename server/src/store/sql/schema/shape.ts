import type { DataSource, EntityMetadata } from "typeorm"
import type { Statement } from "../query/statement.js"

/** Returns a statement that names every table with all its columns, and reads no row. It fails if one does not exist. */
export function shapeStatement({ entityMetadatas }: DataSource): Statement<void> {
  return { sql: `SELECT ${entityMetadatas.map(existenceOf).join(", ")}`, cells: () => [] }
}

function existenceOf({ tableName, columns, dataSource }: EntityMetadata): string {
  const quote = (name: string) => dataSource.driver.escape(name)
  const names = columns.map(({ databaseName }) => quote(databaseName)).join(", ")
  return `EXISTS (SELECT ${names} FROM ${quote(tableName)} WHERE 1 = 0)`
}
