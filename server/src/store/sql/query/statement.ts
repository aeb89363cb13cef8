import type { ObjectLiteral, QueryBuilder } from "typeorm"
import { StatementError } from "./statement-error.js"

/** A value as the driver takes and returns it. */
export type Cell = string | number | Buffer | Date | null

/** A prepared statement. It is built once, when the store opens; each call only supplies the values. */
export interface Statement<Values> {
  /** The text, with `?` for each parameter; on PostgreSQL with `$1`, `$2` and so on. */
  readonly sql: string
  /** Returns the cells of the parameters, in their order. */
  cells(values: Values): Cell[]
  /** The walk along which it reads the table with this alias: see walks/walks.ts. Undefined for other statements. */
  readonly along?: { readonly alias: string; readonly walk: { readonly index: string } }
}

/** A statement with the cells of its parameters. */
export interface Bound {
  readonly sql: string
  readonly cells: Cell[]
}

/** A change of one row whose outcome is known beforehand, so that one statement can make several changes of a kind. */
export interface Change extends Bound {
  /** What the statement does, such as an INSERT into one table. Changes of the same kind differ only in their cells. */
  readonly kind: string
  /** The order of changes that are made together: a lower rank comes first, whichever call the change belongs to. */
  readonly rank: number
  /** Whether it fails with "unmatched" when the row does not exist. */
  readonly mustMatch: boolean
  /** Whether a statement that contains the change twice has the same effect as one that contains it once. */
  readonly isIdempotent: boolean
  /** Returns the statement for `count` changes of the kind. It takes the cells of the changes one after the other. */
  sqlOf(count: number): string
}

/** The most changes that one statement makes, a power of two. Each number of changes is a statement of its own to prepare. */
const changesAtOnce = 16

/** A statement that makes several changes of a kind. */
export interface Joined extends Bound {
  /** The number of rows that it must match; with fewer it fails. */
  readonly least: number
}

/** Joins changes into one statement for each kind, or several where there are many. Changes of a kind keep their order. */
export function joined(changes: readonly Change[]): Joined[] {
  const byKind = [...Map.groupBy(changes, ({ kind }) => kind).values()]
  byKind.sort(([one], [other]) => (one as Change).rank - (other as Change).rank)
  return byKind.flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / changesAtOnce) }, (_, index) => {
      const some = all.slice(index * changesAtOnce, (index + 1) * changesAtOnce)
      const [first] = some as [Change]
      const least = first.mustMatch ? some.length : 0
      // Statements for 1, 2, 4, 8 and 16 changes, so that there are few to prepare. The last change fills the rest where it may.
      const width = first.isIdempotent ? 2 ** Math.ceil(Math.log2(some.length)) : some.length
      while (some.length < width) some.push(some.at(-1) as Change)
      const sql = width === 1 ? first.sql : first.sqlOf(width)
      return { sql, cells: some.flatMap(({ cells }) => cells), least }
    }),
  )
}

/** Makes changes with as few statements as possible. Throws what the statements throw, and StatementError "unmatched". */
export async function makeChanges(
  changes: readonly Change[],
  run: (sql: string, cells: Cell[]) => Promise<{ matched: number }>,
): Promise<void> {
  for (const { sql, cells, least } of joined(changes)) {
    if ((await run(sql, cells)).matched < least)
      throw new StatementError("unmatched", "a row has changed since it was read")
  }
}

/** Runs statements on one connection. */
export interface Statements {
  /** Returns the rows that a SELECT finds. */
  read<Values>(statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /**
   * Returns how many rows an INSERT, UPDATE or DELETE matched. Throws StatementError "duplicate" and "no-parent".
   *
   * @param also Changes that are committed together with the statement if it matched a row.
   */
  write<Values>(statement: Statement<Values>, values: Values, also?: readonly Change[]): Promise<number>
  /**
   * Makes changes. Throws StatementError "duplicate", "no-parent" and "unmatched". Then none of the changes is made, except in a
   * transaction of several steps, which has to fail as well. In a shared transaction the changes may be made at the commit instead, and
   * this throws nothing. If they fail there, the transaction is rolled back and the work runs again by itself.
   */
  change(changes: readonly Change[]): Promise<void>
}

/**
 * Builds a statement in the dialect of the query builder's database.
 *
 * @param parameters For each parameter of the builder (`:name`) the function that makes its cell from the values of a call.
 *   Throws a TypeError unless they are exactly the parameters of the statement.
 */
export function statement<Entity extends ObjectLiteral, Values>(
  builder: QueryBuilder<Entity>,
  parameters: Readonly<Record<string, (values: Values) => Cell>>,
): Statement<Values> {
  // Each parameter has its name as its value, so that the builder returns the names in the order in which it needs them.
  for (const name of Object.keys(parameters)) builder.setParameter(name, name)
  const [sql, names] = builder.getQueryAndParameters()
  const unknown = sql.match(/:\w+/)?.[0] ?? Object.keys(parameters).find((name) => !names.includes(name))
  if (unknown !== undefined) throw new TypeError(`the parameter ${unknown} does not fit: ${sql}`)
  const makers = names.map((name: string) => parameters[name] as (values: Values) => Cell)
  return { sql, cells: (values) => makers.map((make) => make(values)) }
}

/**
 * Returns the parameters of a statement for a fixed number of items, so that there are few statements to prepare. Where there are fewer
 * items, the last one is repeated.
 *
 * @param cells For each part of an item the function that makes its cell.
 * @returns The parameters, and for each item the names of its parts (`:name`).
 */
export function itemParameters<Values, Item>(
  count: number,
  itemsOf: (values: Values) => readonly Item[],
  cells: Readonly<Record<string, (item: Item) => Cell>>,
) {
  const parameters: Record<string, (values: Values) => Cell> = {}
  const names = Array.from({ length: count }, (_, n) =>
    Object.entries(cells).map(([part, cell]) => {
      parameters[`${part}${n}`] = (values) => {
        const items = itemsOf(values)
        return cell(items[Math.min(n, items.length - 1)] as Item)
      }
      return `:${part}${n}`
    }),
  )
  return { parameters, names }
}

/** Returns the size of the texts and bytes of a row. Numbers and dates are small and do not count. */
export function bytesOf(row: readonly Cell[]): number {
  let bytes = 0
  for (const cell of row) if (typeof cell === "string" || Buffer.isBuffer(cell)) bytes += Buffer.byteLength(cell)
  return bytes
}

/** Returns a text that is the same for cells with the same bytes, and different for all others. */
export function textOf(cells: readonly Cell[]): string {
  return cells
    .map((cell) => {
      if (Buffer.isBuffer(cell)) return `${cell.length}:${cell.toString("latin1")}`
      return typeof cell === "string" ? `${cell.length}:${cell}` : cell
    })
    .join()
}
