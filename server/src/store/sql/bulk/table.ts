import type { Database } from "../database.js"
import { bytesOf, type Cell, itemParameters, type Statement, statement } from "../query/statement.js"
import { ofPresentUser } from "../schema/present-users.js"
import { UnreadableRow } from "../schema/row-reader.js"
import type { Table } from "../schema/table.js"
import { alongIndex } from "../walks/along.js"
import type { Walk } from "../walks/walks.js"

/** The rows that are missing from the database or differ from it. */
export interface Difference<Row> {
  missing: Row[]
  changed: Row[]
}

/** A row with a value that cannot be read. */
export class Unreadable<Row> {
  /** A row that contains only the key, and the user that it belongs to if it has one. */
  readonly key: Row
  /** The column, and the rule that its value breaks. */
  readonly problem: string

  constructor(key: Row, problem: string) {
    this.key = key
    this.problem = problem
  }
}

/** All rows of a tenant in one table. */
export interface BulkTable<Row> {
  count(): Promise<number>
  /** Returns all rows in the order of their keys, one page in memory at a time. Throws UnreadableRow. */
  pages(): AsyncIterable<Row[]>
  /** Returns all rows like `pages`, those that cannot be read as Unreadable. Throws UnreadableRow for a key that cannot be read. */
  pagesWithUnreadable(): AsyncIterable<(Row | Unreadable<Row>)[]>
  /** Returns the keys like `pages`: rows that contain only the key, and the user that they belong to and their expiry if they have them. */
  keys(): AsyncIterable<Row[]>
  /** Compares these rows, which must have different keys, with those in the database. */
  differences(rows: readonly Row[]): Promise<Difference<Row>>
  /**
   * Inserts the missing rows and replaces the changed ones, in one transaction. Throws StatementError, with nothing
   * written.
   */
  write(difference: Difference<Row>): Promise<void>
  /** Deletes the rows with the keys of these rows, in one transaction. */
  delete(rows: readonly Row[]): Promise<void>
}

interface BulkTableOptions<Row> {
  tenant: string
  /** Converts a decrypted row to its stored form; `open` does the reverse. */
  seal?: (row: Row) => Row
  open?: (row: Row) => Row
  /** The column with the id of the user that a row belongs to, if the table has one. */
  owner?: keyof Row & string
  /** The column with the time at which a row expires, if the table has one. */
  expiry?: keyof Row & string
  /** A condition on the rows `t`; the others are left out. */
  condition?: string | undefined
  /**
   * Columns that only lists select. They are written with rows that are new or have changed, but they are not compared.
   */
  hidden?: readonly (keyof Row & string)[]
  /** Columns that the other statements of the table neither select nor update. They are written and compared like the others. */
  unselected?: readonly (keyof Row & string)[]
}

const pageSize = 500
const keyPageSize = 5000
/** The number of keys in one SELECT. With more than 200, MySQL does not look at the index to plan the statement. */
const keysAtOnce = 100
/** The number of rows in one INSERT. More rows are not faster. */
const rowsAtOnce = 50
/** The size in bytes above which rows are inserted one by one, because a server limits the size of a statement. */
const maxInsertBytes = 1024 * 1024

export function bulkTable<Row extends { tenant: string }, Key extends keyof Row & string>(
  database: Database,
  table: Table<Row, Key>,
  {
    tenant,
    seal = (row) => row,
    open = (row) => row,
    owner,
    expiry,
    condition,
    hidden = [],
    unselected = [],
  }: BulkTableOptions<Row>,
): BulkTable<Row> {
  const keys = table.key.filter((property) => property !== "tenant")
  const names = keys.map((property) => `t.${property}`)
  const more = [...hidden, ...unselected]
  const others = more.map((property) => `t.${property}`)
  const isPresent = owner === undefined ? undefined : ofPresentUser("t.tenant", `t.${owner}`)
  const where = [isPresent, condition].filter((part) => part !== undefined).join(" AND ")
  const isWanted = ["t.tenant = :tenant", where].filter(Boolean).join(" AND ")
  const marks = [...keys, owner, expiry].filter((property) => property !== undefined)
  const columns = [table.columns("t"), ...names, ...others].join(", ")
  const keyOfRow = (cells: Cell[]) => partOf(keys, cells, table.width)
  const keyOf = (cells: Cell[]) => partOf(marks, cells)
  const rowPages = pagesOf(columns, pageSize, rowOf, keyOfRow)
  const readPages = pagesOf(columns, pageSize, readRowOf, keyOfRow)
  const keyPages = pagesOf(marks.map((property) => `t.${property}`).join(", "), keyPageSize, keyOf, keyOf)
  const ofTenant = table.statement(table.selectFrom("t").select("COUNT(*)").where(isWanted), "tenant" as Key)
  const byKeys = selectByKeys()
  const insertMany = table.insertMany(rowsAtOnce)
  const updateUnselected =
    unselected.length === 0
      ? undefined
      : table.statement(table.updateOf(...unselected).where(table.keyIs()), ...table.key, ...unselected)

  function selectByKeys(): Statement<readonly Row[]> {
    const cells = keys.map((property) => [property, (row: Row) => table.cell(property, row[property])])
    const items = itemParameters(keysAtOnce, (rows: readonly Row[]) => rows, Object.fromEntries(cells))
    const list = database.dialect.rowsIn(items.names.map((key) => `(${key.join(", ")})`))
    return statement(
      table
        .selectFrom("t")
        .select(columns)
        .where(`${isWanted} AND (${names.join(", ")}) IN (${list})`),
      {
        ...items.parameters,
        tenant: () => table.cell("tenant", tenant as Row["tenant"]),
      },
    )
  }

  /** Returns a function that reads rows in the order of their keys. */
  function pagesOf<Item>(select: string, limit: number, make: (cells: Cell[]) => Item, keyIn: (cells: Cell[]) => Row) {
    const walk: Walk<Row> = { index: "PRIMARY", equal: ["tenant"], order: keys }
    const page = (after: readonly Key[]) =>
      alongIndex(database, table, walk, { ...{ alias: "t", select, after, where, limit } })
    const [firstPage, nextPage] = [page([]), page(keys)]
    const of = { tenant } as Row
    return async function* (): AsyncGenerator<Item[]> {
      const sql = database.reads({})
      let last: Cell[] | undefined
      for (;;) {
        const found: Cell[][] = await (last === undefined
          ? sql.read(firstPage, { of })
          : sql.read(nextPage, { of, after: keyIn(last) }))
        if (found.length > 0) yield found.map(make)
        last = found.at(-1)
        if (last === undefined || found.length < limit) return
      }
    }
  }

  /** Converts cells from index `from` on to a row that contains only these properties. */
  function partOf(properties: readonly (keyof Row)[], cells: Cell[], from = 0): Row {
    const values = properties.map((property, index) => [property, table.value(property, cells[from + index] as Cell)])
    return { ...Object.fromEntries(values), tenant }
  }

  /**
   * Converts the cells of a SELECT to a row: the columns, then the key, which may be among the columns or not, then the
   * hidden columns and the unselected ones.
   */
  function rowOf(cells: Cell[]): Row {
    const row: Row = { ...table.row(cells), tenant }
    for (const [index, property] of keys.entries()) {
      row[property] ??= table.value(property, cells[table.width + index] as Cell) as Row[Key]
    }
    for (const [index, property] of more.entries()) {
      row[property] = table.value(property, cells[table.width + keys.length + index] as Cell) as Row[typeof property]
    }
    return open(row)
  }

  function readRowOf(cells: Cell[]): Row | Unreadable<Row> {
    try {
      return rowOf(cells)
    } catch (error) {
      if (!(error instanceof UnreadableRow)) throw error
      const ofUser = owner && { [owner]: table.valueIn(owner, cells) }
      return new Unreadable({ ...keyOfRow(cells), ...ofUser }, `${error.column} ${error.rule}`)
    }
  }

  function same(one: Row, other: Row): boolean {
    const cells = compared(other)
    return compared(one).every((cell, index) => isSameCell(cell, cells[index]))
  }

  function compared(row: Row): Cell[] {
    const shown = { ...row }
    for (const property of hidden) delete shown[property]
    return table.insert.cells(shown)
  }

  return {
    async count() {
      const [cells] = await database.reads({}).read(ofTenant, { tenant } as Row)
      return Number(cells?.[0])
    },

    pages: rowPages,
    pagesWithUnreadable: readPages,
    keys: keyPages,

    async differences(rows) {
      const stored = new Map<string, Row>()
      const lookups = [...chunks(rows, keysAtOnce)].map((chunk) => database.reads({}).read(byKeys, chunk))
      for (const cells of (await Promise.all(lookups)).flat()) {
        const row = rowOf(cells)
        stored.set(table.nameOf(row), row)
      }
      const difference: Difference<Row> = { missing: [], changed: [] }
      for (const row of rows) {
        const found = stored.get(table.nameOf(row))
        if (found === undefined) difference.missing.push(row)
        else if (!same(found, row)) difference.changed.push(row)
      }
      return difference
    },

    async write({ missing, changed }) {
      if (missing.length + changed.length === 0) return
      const [inserted, updated] = [missing.map(seal), changed.map(seal)]
      await database.write({}, [], async (sql) => {
        for (const row of updated) {
          await sql.write(table.update, row)
          if (updateUnselected !== undefined) await sql.write(updateUnselected, row)
        }
        for (const chunk of chunks(inserted, rowsAtOnce)) {
          if (chunk.length === rowsAtOnce && bytesOf(insertMany.cells(chunk)) <= maxInsertBytes) {
            await sql.write(insertMany, chunk)
          } else for (const row of chunk) await sql.write(table.insert, row)
        }
      })
    },

    async delete(rows) {
      if (rows.length === 0) return
      await database.write({}, [], async (sql) => {
        for (const row of rows) await sql.write(table.delete, row)
      })
    },
  }
}

function isSameCell(one: Cell, other: Cell | undefined): boolean {
  if (one === other) return true
  if (Buffer.isBuffer(one)) return Buffer.isBuffer(other) && one.equals(other)
  return one instanceof Date && other instanceof Date && one.getTime() === other.getTime()
}

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
