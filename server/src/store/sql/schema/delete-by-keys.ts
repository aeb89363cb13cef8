import type { ObjectLiteral } from "typeorm"
import { type Cell, itemParameters, type Statements, statement } from "../query/statement.js"
import type { Table } from "./table.js"

/**
 * The number of keys in one DELETE. With more keys MySQL would scan a table of some hundred rows as a whole, and wait
 * for rows that other transactions have locked.
 */
const keysAtOnce = 20

/**
 * Creates a function that deletes the rows with these keys. Returns their number.
 *
 * @param key the properties whose cells each key has, in their order.
 */
export function deleteByKeys<Row extends ObjectLiteral, Key extends keyof Row & string>(
  table: Table<Row, Key>,
  key: readonly string[] = table.key,
) {
  const cells = key.map((property, index) => [property, (row: Cell[]) => row[index] as Cell])
  const { parameters, names } = itemParameters(keysAtOnce, (rows: readonly Cell[][]) => rows, Object.fromEntries(cells))
  const isRow = (row: string[]) => `(${row.map((name, n) => `${key[n]} = ${name}`).join(" AND ")})`
  const deleteRows = statement(table.deleteFrom().where(names.map(isRow).join(" OR ")), parameters)
  return async (sql: Statements, rows: readonly Cell[][]): Promise<number> => {
    let count = 0
    for (let start = 0; start < rows.length; start += keysAtOnce) {
      count += await sql.write(deleteRows, rows.slice(start, start + keysAtOnce))
    }
    return count
  }
}
