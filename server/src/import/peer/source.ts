import { createHash } from "node:crypto"
import { isBroken } from "./values.js"

/** A column of a peer's table. */
export interface SourceColumn {
  name: string
  /** The type as the database names it, in lower case, such as `varchar(255)` or `timestamp without time zone`. */
  type: string
  /** The maximum number of characters; undefined if there is no such limit. */
  maxLength: number | undefined
  /** Whether the database considers some different texts of this column equal: by case, accents or trailing spaces. */
  folds: boolean
  /** Converts a cell that is not null. Without it, cells are used as they are. */
  parse?: ((cell: unknown) => unknown) | undefined
  /** Whether the driver returns values in its own form, so that they are in no digest. */
  isOpaque?: boolean | undefined
}

export interface SourceTable {
  name: string
  columns: SourceColumn[]
  /** What it is instead of a table, such as `view`: it may not show every row. */
  otherKind?: string | undefined
  /** Columns that are unique together and never null. Rows are paged by them. Empty for a view, and if there are none. */
  key: string[]
}

/** A peer's database, which is only read. Errors of the driver are passed on unchanged. */
export interface Source {
  /** Returns the names of the tables and views. */
  tables(): Promise<string[]>
  /** The schema that has the tables, if the database has several. */
  readonly schema?: string
  /** Returns why the database may not have every row. Undefined if nothing is known of the kind. */
  replica?(): Promise<string | undefined>
  describe(table: string): Promise<SourceTable>
  count(table: string): Promise<number>
  /** Whether the columns are unique together and never null in a table or view. */
  isUnique(table: string, columns: readonly string[]): Promise<boolean>
  /** Returns the first rows of the table, or those after a key, ordered by the key. */
  page(table: SourceTable, after: readonly unknown[] | undefined, limit: number): Promise<SourcePage>
  close(): Promise<void>
}

export interface SourcePage {
  /**
   * Each row is a list of cells: first the columns, then the key. Dates are in the database's format or Dates, JSON and
   * integers that Number cannot represent exactly are text. A document's absent property is undefined.
   */
  rows: unknown[][]
  /**
   * Returns a digest of each row in the state in which it was read (see `rowDigest`). The database computes it in a
   * statement of its own from the bytes that it holds, so that it does not depend on how its driver reads them. Absent for a
   * file.
   */
  digests?(): Promise<unknown[]>
  /** Whether no row follows. Default: whether there are fewer than the limit. */
  isLast?: boolean
}

/** The syntax of a database. The first parameter has the number 1. */
export interface Dialect {
  quote(name: string): string
  parameter(number: number, value: unknown): string
}

interface PageStatement {
  /** The expressions to select. */
  select: readonly string[]
  /** The quoted name of the table. */
  from: string
  /** The key after which the rows begin; undefined for the first row. */
  after: readonly unknown[] | undefined
  limit: number
}

/** Returns a statement for the first rows of a table, or those after a key, ordered by the key. */
export function pageStatement(
  { quote, parameter }: Dialect,
  { key }: SourceTable,
  { select, from, after, limit }: PageStatement,
): { sql: string; parameters: unknown[] } {
  const keys = key.map(quote)
  const parameters: unknown[] = []
  const beyond = (values: readonly unknown[]) => {
    const bound = (index: number) => parameter(parameters.push(values[index]), values[index])
    // Spelled out, because MySQL does not use the index for (a, b) > (?, ?).
    const conditions = keys.map((column, index) => {
      const before = keys.slice(0, index).map((one, n) => `${one} = ${bound(n)}`)
      return `(${[...before, `${column} > ${bound(index)}`].join(" AND ")})`
    })
    return ` WHERE ${conditions.join(" OR ")}`
  }
  const where = after === undefined ? "" : beyond(after)
  return {
    sql: `SELECT ${select.join(", ")} FROM ${from}${where} ORDER BY ${keys.join(", ")} LIMIT ${limit}`,
    parameters,
  }
}

/** A column of an index. The columns of an index are listed in its order. */
interface IndexColumn {
  index: string
  column: string
  isPrimary: boolean
  isNullable: boolean
}

/** Returns a statement that finds a row unless the columns are unique together and never null. */
export function repeatedStatement(from: string, quoted: readonly string[]): string {
  const isNull = quoted.map((column) => `COUNT(${column}) = 0`).join(" OR ")
  return `SELECT 1 FROM ${from} GROUP BY ${quoted.join(", ")} HAVING COUNT(*) > 1 OR ${isNull} LIMIT 1`
}

/** Returns the columns to page by: the primary key, else the shortest unique index that is never null. */
export function pagingKey(columns: readonly IndexColumn[]): string[] {
  const indexes = Object.values(Object.groupBy(columns, ({ index }) => index)) as IndexColumn[][]
  const usable = indexes.filter((index) => index.every(({ isNullable }) => !isNullable))
  const best = usable.find(([first]) => first?.isPrimary) ?? usable.sort((one, other) => one.length - other.length)[0]
  return (best ?? []).map(({ column }) => column)
}

/**
 * Returns the SHA-256 of the cells of a row: for each its length in bytes, a colon and its bytes, or a minus sign for null.
 * The database computes the same from what it holds. Fractions of SQLite count to three decimal places, because it writes them in
 * another way than JavaScript; the other sources return fractions as text.
 */
export function rowDigest(columns: readonly SourceColumn[], cells: readonly unknown[]): string {
  const digest = createHash("sha256")
  for (const [index, { isOpaque }] of columns.entries()) {
    if (isOpaque) continue
    const cell = cells[index]
    if (cell === null || cell === undefined) digest.update("-")
    else {
      const bytes = bytesOf(cell)
      digest.update(`${Buffer.byteLength(bytes)}:`).update(bytes)
    }
  }
  return digest.digest("hex")
}

function bytesOf(cell: unknown): string | Uint8Array {
  if (typeof cell === "string" || cell instanceof Uint8Array) return cell
  if (isBroken(cell)) return cell.brokenText
  if (typeof cell === "number" && !Number.isSafeInteger(cell)) return `~${thousandths(cell)}`
  return String(cell)
}

function thousandths(number: number): string {
  return Math.abs(number) < 1e12 ? String(Math.trunc(number * 1000)) : ""
}
