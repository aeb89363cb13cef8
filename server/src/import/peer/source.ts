import type { Range } from "../item.js"

/** A column of somebody else's table. */
export interface SourceColumn {
  name: string
  /** The type as the database calls it, in lower case: `varchar(255)`, `timestamp without time zone`. */
  type: string
  /** The most characters that it holds, where there is such a limit. */
  maxLength: number | undefined
  /** Whether the database finds some different texts in it equal: by case, accents or trailing spaces. */
  folds: boolean
}

export interface SourceTable {
  name: string
  columns: SourceColumn[]
  /** Columns that are unique together and never null: what rows are paged by. */
  key: string[]
}

/** Somebody else's database, which is only read. What the driver throws comes out as it is. */
export interface Source {
  /** The names of its tables. */
  tables(): Promise<string[]>
  /** Throws StartError for a table that cannot be paged. */
  describe(table: string): Promise<SourceTable>
  count(table: string): Promise<number>
  /**
   * The first rows of a part of the table in the order of the key, as cells: those of the columns, and behind them those
   * of the key. Dates are as the database writes them, whole numbers that Number cannot hold are text, and columns whose
   * type ends in `[]` are arrays.
   */
  page(table: SourceTable, range: Range, limit: number): Promise<unknown[][]>
  close(): Promise<void>
}

/** How a database writes a name and a parameter, the first of which has the number 1. */
export interface Dialect {
  quote(name: string): string
  parameter(number: number): string
}

/** The statement of Source.page. */
export function pageStatement(
  { quote, parameter }: Dialect,
  { name, columns, key }: SourceTable,
  { after, upTo }: Range,
  limit: number,
): { sql: string; parameters: unknown[] } {
  const keys = key.map(quote)
  const parameters: unknown[] = []
  // Written out, because MySQL does not find (a, b) > (?, ?) by the index.
  const beyond = (values: readonly unknown[], sign: "<" | ">", last: string) => {
    const bound = (index: number) => parameter(parameters.push(values[index]))
    const conditions = keys.map((column, index) => {
      const before = keys.slice(0, index).map((one, n) => `${one} = ${bound(n)}`)
      return `(${[...before, `${column} ${index === keys.length - 1 ? last : sign} ${bound(index)}`].join(" AND ")})`
    })
    return `(${conditions.join(" OR ")})`
  }
  const selected = [...columns.map((column) => quote(column.name)), ...keys].join(", ")
  const conditions = [
    ...(after === undefined ? [] : [beyond(after, ">", ">")]),
    ...(upTo === undefined ? [] : [beyond(upTo, "<", "<=")]),
  ]
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`
  return {
    sql: `SELECT ${selected} FROM ${quote(name)}${where} ORDER BY ${keys.join(", ")} LIMIT ${limit}`,
    parameters,
  }
}

/** A column of an index, one after the other as an index has them. */
export interface IndexColumn {
  index: string
  column: string
  isPrimary: boolean
  isNullable: boolean
}

/** The columns of the best unique index to page by: the primary key, else one whose columns are never null. */
export function pagingKey(columns: readonly IndexColumn[]): string[] | undefined {
  const indexes = Object.values(Object.groupBy(columns, ({ index }) => index)) as IndexColumn[][]
  const usable = indexes.filter((index) => index.every(({ isNullable }) => !isNullable))
  const best = usable.find(([first]) => first?.isPrimary) ?? usable.sort((one, other) => one.length - other.length)[0]
  return best?.map(({ column }) => column)
}
