import type { ObjectLiteral } from "typeorm"
import type { Times } from "../../types.js"
import type { Cell } from "../query/statement.js"
import type { Table } from "./table.js"

interface Timed extends ObjectLiteral {
  created?: Date | undefined
  updated?: Date | undefined
}

/** Returns the columns that lists select: those of the table, then when the row was created and last written. */
export function columnsWithTimes(table: { columns(alias: string): string }, alias: string) {
  return `${table.columns(alias)}, ${alias}.created, ${alias}.updated`
}

/**
 * Reads the times of a row that was selected with `columnsWithTimes`.
 *
 * @param width the number of columns before them. Default: those of the table.
 */
export function timesOf<Row extends Timed, Key extends keyof Row>(
  table: Table<Row, Key>,
  cells: Cell[],
  width = table.width,
): Times {
  const [created, updated] = [cells[width] as Cell, cells[width + 1] as Cell]
  return { created: table.value("created", created) as Date, updated: table.value("updated", updated) as Date }
}
