import type { ObjectLiteral, QueryBuilder } from "typeorm"

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

/** An INSERT of one row, which can be joined with others into the same table. */
export interface InsertedRow extends Bound {
  readonly table: string
  /** Of rows that are inserted together those of a lower rank come first, whoever gave them. */
  readonly rank: number
  /** The statement for so many rows, whose cells follow each other. */
  sqlOf(count: number): string
}

/** How many rows one statement inserts: each number of them is a statement of its own to prepare. */
const rowsAtOnce = 16

/** An INSERT for the rows of each table, or several where they are many; those of a table in the order in which they came. */
export function joined(rows: readonly InsertedRow[]): Bound[] {
  const byTable = [...Map.groupBy(rows, ({ table }) => table).values()]
  byTable.sort(([one], [other]) => (one as InsertedRow).rank - (other as InsertedRow).rank)
  return byTable.flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / rowsAtOnce) }, (_, index) => {
      const some = all.slice(index * rowsAtOnce, (index + 1) * rowsAtOnce)
      const [first] = some as [InsertedRow]
      return some.length === 1 ? first : { sql: first.sqlOf(some.length), cells: some.flatMap(({ cells }) => cells) }
    }),
  )
}

/** Runs statements on one connection. */
export interface Statements {
  /** The rows that a SELECT finds. */
  read<Values>(statement: Statement<Values>, values: Values): Promise<Cell[][]>
  /**
   * How many rows an INSERT, UPDATE or DELETE matched. Throws StatementError "duplicate" and "no-parent".
   *
   * @param also rows that are committed together with it, if it matched any.
   */
  write<Values>(statement: Statement<Values>, values: Values, also?: readonly InsertedRow[]): Promise<number>
  /**
   * Inserts rows, all or none. Throws StatementError "duplicate" and "no-parent". In a transaction that is shared with others it
   * may come with their rows and throw nothing: then all is undone at the commit, and the work runs again by itself.
   */
  insert(rows: readonly InsertedRow[]): Promise<void>
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
