import { StartError } from "../../errors/start-error.js"
import type { Range } from "../item.js"

/** A column of a peer's table. */
export interface SourceColumn {
  name: string
  /** The type as the database names it, in lower case, such as `varchar(255)` or `timestamp without time zone`. */
  type: string
  /** The maximum number of characters; undefined if there is no such limit. */
  maxLength: number | undefined
  /** Whether the database considers some different texts of this column equal: by case, accents or trailing spaces. */
  folds: boolean
}

export interface SourceTable {
  name: string
  columns: SourceColumn[]
  /** Columns that are unique together and never null. Rows are paged by them. */
  key: string[]
}

/** A peer's database, which is only read. Errors of the driver are passed on unchanged. */
export interface Source {
  /** Returns the names of the tables. */
  tables(): Promise<string[]>
  /** Describes a table. Throws StartError if it cannot be paged. */
  describe(table: string): Promise<SourceTable>
  count(table: string): Promise<number>
  /**
   * Returns the first rows of a range of the table, ordered by the key. Each row is a list of cells: first the columns,
   * then the key. Dates are in the database's format, JSON and integers that Number cannot represent exactly are text,
   * and columns whose type ends in `[]` are arrays.
   */
  page(table: SourceTable, range: Range, limit: number): Promise<unknown[][]>
  close(): Promise<void>
}

/** The syntax of a database for names and parameters. The first parameter has the number 1. */
export interface Dialect {
  quote(name: string): string
  parameter(number: number): string
}

/**
 * Returns the statement for Source.page.
 *
 * @param from The quoted name of the table.
 */
export function pageStatement(
  { quote, parameter }: Dialect,
  { name, columns, key }: SourceTable,
  { after, upTo }: Range,
  limit: number,
  from = quote(name),
): { sql: string; parameters: unknown[] } {
  const keys = key.map(quote)
  const parameters: unknown[] = []
  // Spelled out, because MySQL does not use the index for (a, b) > (?, ?).
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
    sql: `SELECT ${selected} FROM ${from}${where} ORDER BY ${keys.join(", ")} LIMIT ${limit}`,
    parameters,
  }
}

/** A column of an index. The columns of an index are listed in its order. */
export interface IndexColumn {
  index: string
  column: string
  isPrimary: boolean
  isNullable: boolean
}

/**
 * Returns the columns of the best unique index for paging: the primary key, otherwise the shortest index whose columns
 * are never null. Throws StartError if there is none.
 */
export function pagingKey(table: string, columns: readonly IndexColumn[]): string[] {
  const indexes = Object.values(Object.groupBy(columns, ({ index }) => index)) as IndexColumn[][]
  const usable = indexes.filter((index) => index.every(({ isNullable }) => !isNullable))
  const best = usable.find(([first]) => first?.isPrimary) ?? usable.sort((one, other) => one.length - other.length)[0]
  if (best === undefined) throw new StartError(`the table ${table} has no unique key to read it by: add one`)
  return best.map(({ column }) => column)
}
