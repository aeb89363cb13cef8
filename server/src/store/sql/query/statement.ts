import type { ObjectLiteral, QueryBuilder } from "typeorm"
import { StatementError } from "../engine/statement-error.js"

/** A value as the driver takes and gives it. */
export type Cell = string | number | Buffer | Date | null

/** A statement that the driver prepares. It is built once, when the store opens; a call only gives it values. */
export interface Statement<Values> {
  /** With `?` for each parameter, on PostgreSQL with `$1`, `$2` and so on. */
  readonly sql: string
  /** The cells of the parameters, in their order. */
  cells(values: Values): Cell[]
}

/** A statement with the cells of its parameters. */
export interface Bound {
  readonly sql: string
  readonly cells: Cell[]
}

/** A change of one row whose outcome is known beforehand. One statement makes it, and others of its kind with it. */
export interface Change extends Bound {
  /** What it is, such as an INSERT into one table: changes of a kind differ in their cells alone. */
  readonly kind: string
  /** Of changes that are made together those of a lower rank come first, whoever gave them. */
  readonly rank: number
  /** Whether it fails by "unmatched" where there is no such row. */
  readonly mustMatch: boolean
  /** Whether a statement that has it twice does the same as one that has it once. */
  readonly mayStandTwice: boolean
  /** The statement for so many of a kind, whose cells follow each other. */
  sqlOf(count: number): string
}

/** How many changes one statement makes, a power of two: each number of them is a statement of its own to prepare. */
const changesAtOnce = 16

/** A statement that makes several changes of a kind. */
export interface Joined extends Bound {
  /** How many rows it must match, or it fails. */
  readonly least: number
}

/** A statement for the changes of each kind, or several where they are many; those of a kind in the order in which they came. */
export function joined(changes: readonly Change[]): Joined[] {
  const byKind = [...Map.groupBy(changes, ({ kind }) => kind).values()]
  byKind.sort(([one], [other]) => (one as Change).rank - (other as Change).rank)
  return byKind.flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / changesAtOnce) }, (_, index) => {
      const some = all.slice(index * changesAtOnce, (index + 1) * changesAtOnce)
      const [first] = some as [Change]
      const least = first.mustMatch ? some.length : 0
      // Few statements to prepare: for 1, 2, 4, 8 and 16, where the last change can stand for those that lack.
      const width = first.mayStandTwice ? 2 ** Math.ceil(Math.log2(some.length)) : some.length
      while (some.length < width) some.push(some.at(-1) as Change)
      const sql = width === 1 ? first.sql : first.sqlOf(width)
      return { sql, cells: some.flatMap(({ cells }) => cells), least }
    }),
  )
}

/** Makes changes by as few statements as that takes. Throws what the statements throw, and StatementError "unmatched". */
export async function makeChanges(
  changes: readonly Change[],
  run: (sql: string, cells: Cell[]) => Promise<{ matched: number }>,
): Promise<void> {
  for (const { sql, cells, least } of joined(changes)) {
    if ((await run(sql, cells)).matched < least) throw new StatementError("unmatched", "a row is not as it was read")
  }
}

/** Runs statements on one connection. */
export interface Statements {
  /** The rows that a SELECT finds. */
  read<Values>(statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /**
   * How many rows an INSERT, UPDATE or DELETE matched. Throws StatementError "duplicate" and "no-parent".
   *
   * @param also changes that are committed together with it, if it matched any.
   */
  write<Values>(statement: Statement<Values>, values: Values, also?: readonly Change[]): Promise<number>
  /**
   * Makes changes. Throws StatementError "duplicate", "no-parent" and "unmatched": then none of them is made, unless this is a
   * transaction of several steps, which has to fail with it. In a transaction that is shared with others it may come with theirs
   * and throw nothing: then all is undone at the commit, and the work runs again by itself.
   */
  change(changes: readonly Change[]): Promise<void>
}

/**
 * Has a query builder write a statement for its database.
 *
 * @param parameters for each parameter of the builder (`:name`), what makes its cell of the values that a call gives.
 *   Throws a TypeError when they are not exactly those that the statement has.
 */
export function statement<Entity extends ObjectLiteral, Values>(
  builder: QueryBuilder<Entity>,
  parameters: Readonly<Record<string, (values: Values) => Cell>>,
): Statement<Values> {
  // The value of each is its name: so the builder tells in which order it needs them.
  for (const name of Object.keys(parameters)) builder.setParameter(name, name)
  const [sql, names] = builder.getQueryAndParameters()
  const unknown = sql.match(/:\w+/)?.[0] ?? Object.keys(parameters).find((name) => !names.includes(name))
  if (unknown !== undefined) throw new TypeError(`the parameter ${unknown} does not fit: ${sql}`)
  const makers = names.map((name: string) => parameters[name] as (values: Values) => Cell)
  return { sql, cells: (values) => makers.map((make) => make(values)) }
}
