import type { Database } from "../database.js"

/** Rows that refer to rows of another table that are not there. */
export interface Orphans {
  table: string
  /** The other table. */
  of: string
  /** How many were found: there may be more. */
  count: number
}

/** How many rows are examined at each end of an index. */
export const examinedRows = 1000

/**
 * Looks for rows without the user or the tenant to which they belong. A database does not let them come into being, but a backup that
 * was restored in part has them: it was cut off, or lacks tables. So the rows at both ends of an index are examined, and not all.
 */
export async function orphans(database: Database): Promise<Orphans[]> {
  const { dataSource, tables } = database
  const references = dataSource.entityMetadatas.flatMap(({ tableName: table, foreignKeys }) =>
    foreignKeys.map(({ columnNames: columns, referencedColumnNames: keys, referencedEntityMetadata }) => {
      return { table, columns, of: referencedEntityMetadata.tableName, keys }
    }),
  )
  references.push({ table: tables.users.name, columns: ["tenant"], of: tables.tenants.name, keys: ["name"] })
  const found: Orphans[] = []
  const quote = (name: string) => dataSource.driver.escape(name)
  for (const { table, columns, of, keys } of references) {
    const listed = columns.map(quote)
    const isParent = keys.map((key, index) => `p.${quote(key)} = c.${listed[index]}`).join(" AND ")
    // A subquery for each row, because a join might read all of the other table.
    const parent = `SELECT 1 FROM ${quote(of)} p WHERE ${isParent} LIMIT 1`
    const counts = ["ASC", "DESC"].map(async (direction) => {
      const order = listed.map((name) => `${name} ${direction}`).join(", ")
      const end = `SELECT ${listed.join(", ")} FROM ${quote(table)} ORDER BY ${order} LIMIT ${examinedRows}`
      const sql = `SELECT COUNT(*) FROM (${end}) c WHERE (${parent}) IS NULL`
      const [row] = await database.reads({}, "scan").read({ sql, cells: () => [] }, undefined)
      return Number(row?.[0])
    })
    const count = Math.max(...(await Promise.all(counts)))
    if (count > 0) found.push({ table, of, count })
  }
  return found
}

/** Returns which of the rows are missing that a migration inserts and nothing deletes. */
export async function lostRows({ tables: { tenants }, reads }: Database): Promise<string[]> {
  const found = await reads({}).read(tenants.byKey, { name: "default" })
  return found.length === 0 ? ["default of tenants"] : []
}

/** Returns how many processes of the service have reported session caches of their clients in the last seconds. */
export async function reportingProcesses(database: Database): Promise<number> {
  const sql = `SELECT COUNT(DISTINCT process) FROM caches WHERE expires > ${database.dialect.now}`
  const [row] = await database.reads({}).read({ sql, cells: () => [] }, undefined)
  return Number(row?.[0])
}
