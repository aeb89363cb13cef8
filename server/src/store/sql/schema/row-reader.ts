import type { DataSource, EntityMetadata, ObjectLiteral } from "typeorm"
import type { Cell } from "../query/statement.js"
import type { RuledTransformer } from "./column-types.js"

type Column = EntityMetadata["columns"][number]

/** A row that cannot be read, and where. It has no value of the row except its id. */
export interface UnreadableRowEvent {
  table: string
  column: string
  /** The id of the row, or that of its user; undefined if it has neither. */
  id: string | undefined
}

/** Thrown for a value that does not have the form of its column. The errors of parsers would quote the value. */
export class UnreadableRow extends Error implements UnreadableRowEvent {
  override readonly name = "UnreadableRow"
  readonly table: string
  readonly column: string
  readonly id: string | undefined
  /** The rule that the value breaks. */
  readonly rule: string

  constructor({ table, column, id }: UnreadableRowEvent, rule: string) {
    super(`${column} of a row of ${table} cannot be read${id === undefined ? "" : `: ${id}`}`)
    this.table = table
    this.column = column
    this.id = id
    this.rule = rule
  }
}

/** Called for a row that was left out of a list. */
export type OnUnreadable = (event: UnreadableRowEvent) => void

/** The conversion of the cells of a table to rows. */
export interface RowReader<Row extends ObjectLiteral> {
  /**
   * Converts the cells from index `from` on to a row. A null column becomes an undefined property. Throws UnreadableRow.
   */
  row(cells: Cell[], from?: number): Row
  /**
   * Converts rows of a list. A row for which `make` throws UnreadableRow is reported and left out, so that it costs only
   * itself.
   */
  readable<Item>(rows: readonly Cell[][], make: (cells: Cell[]) => Item): Item[]
  /** Returns the value of a selected property. Throws UnreadableRow. */
  valueIn<Name extends keyof Row>(name: Name, cells: readonly Cell[]): Row[Name]
  /** Converts a cell to the value of its property. Throws UnreadableRow. */
  value<Name extends keyof Row>(name: Name, cell: Cell): Row[Name]
}

/** What a cell is converted to that does not have the form of its column. */
const unreadable = Symbol("unreadable")

/** Whether a column has text as the driver returns it, and not another value that is stored as text. */
const isPlainText = ({ type, transformer }: Column) => /text$|^varchar$/.test(String(type)) && transformer === undefined

const ruleOf = ({ transformer }: Column) => (transformer as RuledTransformer | undefined)?.rule ?? "must be text"

/** @param selected the columns whose cells a row has, in their order. */
export function rowReader<Row extends ObjectLiteral>({
  driver,
  tableName,
  columns,
  selected,
  columnOf,
  onUnreadable,
}: {
  driver: DataSource["driver"]
  tableName: string
  columns: readonly Column[]
  selected: readonly Column[]
  columnOf: (property: PropertyKey) => Column
  onUnreadable: OnUnreadable
}): RowReader<Row> {
  const texts = new Set(columns.filter(isPlainText))
  const parsed = (column: Column, cell: Cell | undefined) => {
    if (cell === null || cell === undefined) return undefined
    // The driver has nothing to convert, and would only take time.
    if (texts.has(column)) return typeof cell === "string" ? cell : unreadable
    try {
      return driver.prepareHydratedValue(cell, column) ?? undefined
    } catch {
      return unreadable
    }
  }
  const toValue = (column: Column, cell: Cell | undefined) => {
    const value = parsed(column, cell)
    if (value === unreadable) throw new UnreadableRow({ ...placeOf(column), id: undefined }, ruleOf(column))
    return value
  }
  const row = (cells: Cell[], from = 0): Row => {
    const found: ObjectLiteral = {}
    // This runs for each cell of each row. An iterator would take longer than the checks.
    for (let index = 0; index < selected.length; index++) {
      const column = selected[index] as Column
      const value = parsed(column, cells[from + index])
      if (value === unreadable) throw new UnreadableRow({ ...placeOf(column), id: idIn(cells, from) }, ruleOf(column))
      found[column.propertyName] = value
    }
    return found as Row
  }
  const placeOf = ({ databaseName }: Column) => ({ table: tableName, column: databaseName })
  /** Returns the id of a row, or else that of its user. */
  const idIn = (cells: readonly Cell[], from: number): string | undefined => {
    const index = ["id", "userId", "name"]
      .map((name) => selected.findIndex(({ propertyName }) => propertyName === name))
      .find((found) => found !== -1)
    const id = index === undefined ? undefined : parsed(selected[index] as Column, cells[from + index])
    return typeof id === "string" || typeof id === "number" ? String(id) : undefined
  }
  const indexOf = (property: PropertyKey) => selected.indexOf(columnOf(property))
  const readable = <Item>(cells: Cell[], make: (cells: Cell[]) => Item): [Item] | [] => {
    try {
      return [make(cells)]
    } catch (error) {
      if (!(error instanceof UnreadableRow)) throw error
      onUnreadable({ table: error.table, column: error.column, id: error.id ?? idIn(cells, 0) })
      return []
    }
  }

  return {
    row,
    readable: (rows, make) => rows.flatMap((cells) => readable(cells, make)),
    valueIn: (property, cells) => toValue(columnOf(property), cells[indexOf(property)]),
    value: (property, cell) => toValue(columnOf(property), cell),
  }
}
