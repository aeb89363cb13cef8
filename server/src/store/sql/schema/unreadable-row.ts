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

  constructor({ table, column, id }: UnreadableRowEvent) {
    super(`${column} of a row of ${table} cannot be read${id === undefined ? "" : `: ${id}`}`)
    this.table = table
    this.column = column
    this.id = id
  }
}
