import type { ObjectLiteral, SelectQueryBuilder } from "typeorm"
import type { Database } from "../database.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import type { IfLocked } from "../schema/dialect.js"
import type { Table } from "../schema/table.js"
import type { RowIn, TableName, Walk, WalkOf } from "./walks.js"

/** Some properties of a row. */
export type Some<Row> = { readonly [Name in keyof Row]?: Row[Name] | undefined }

/** The rows of a walk that a statement reads: those with the values `of`, and between these positions in its order. */
export interface Reach<Row> {
  of?: Some<Row>
  /** The first position, itself included. */
  from?: Some<Row>
  /** The position before the first one. */
  after?: Some<Row>
  /** The last position, itself included. */
  to?: Some<Row>
}

export interface AlongOptions<Row, Values> {
  /** The alias of the table. */
  alias: string
  /** The expressions to select. */
  select: string
  /** Whether to read from the end to the beginning. Default: false. */
  backwards?: boolean
  /** The columns that bound what is read, the first ones of the order. */
  from?: readonly (keyof Row & string)[]
  after?: readonly (keyof Row & string)[]
  to?: readonly (keyof Row & string)[]
  /** A further condition. It may use the parameters of `equal` by their names. */
  where?: string | undefined
  /** What makes the cells of its other parameters. */
  parameters?: Readonly<Record<string, (values: Values) => Cell>>
  /** Whether rows that are marked as deleted are read too. Default: false. */
  withDeleted?: boolean
  /** Whether the rows come in the order of the walk; false for an aggregate. Default: true. */
  isOrdered?: boolean
  limit?: number
  offset?: number
  /** Locks the rows. Default: they are not locked. */
  ifLocked?: IfLocked
  /** Adds joins. */
  join?: (select: SelectQueryBuilder<ObjectLiteral>) => SelectQueryBuilder<ObjectLiteral>
}

/** What a walk needs of a table. */
type Selectable<Row extends ObjectLiteral> = Pick<Table<Row, keyof Row>, "entity" | "selectFrom" | "cell">

/** Creates a statement that reads along a walk. Throws a TypeError unless the index begins with the columns of the walk. */
export function along<Name extends TableName, More = unknown>(
  database: Database,
  walk: WalkOf<Name>,
  options: AlongOptions<RowIn<Name>, Reach<RowIn<Name>> & More>,
): Statement<Reach<RowIn<Name>> & More> {
  const table = database.tables[walk.table] as unknown as Selectable<RowIn<Name>>
  return alongIndex(database, table, walk, options)
}

/** Does the same for a walk of any table. */
export function alongIndex<Row extends ObjectLiteral, Values extends Reach<Row>>(
  { dataSource, dialect }: Database,
  table: Selectable<Row>,
  walk: Walk<Row>,
  options: AlongOptions<Row, Values>,
): Statement<Values> {
  const { alias, backwards = false, isOrdered = true, withDeleted = false, join = (one) => one } = options
  const { index, equal, order } = walk
  const columns = [...equal, ...order]
  const { indices, primaryColumns } = dataSource.getMetadata(table.entity)
  const indexed = index === "PRIMARY" ? primaryColumns : indices.find(({ name }) => name === index)?.columns
  if (!columns.every((column, n) => indexed?.[n]?.propertyName === column))
    throw new TypeError(`${index} does not begin with ${columns.join(", ")}`)

  const parameters: Record<string, (values: Values) => Cell> = {}
  const parameter = (name: string, column: keyof Row & string, rowIn: (values: Values) => Some<Row> | undefined) => {
    parameters[name] = (values) => table.cell(column, rowIn(values)?.[column] as Row[typeof column])
    return `:${name}`
  }
  const columnOf = (column: string) => `${alias}.${column}`
  const boundOf = (kind: "from" | "after" | "to", operator: ">" | ">=" | "<" | "<=") => {
    const bounding = options[kind] ?? []
    return {
      columns: bounding.map(columnOf),
      operator,
      parameters: bounding.map((column) => parameter(`${kind}_${column}`, column, (values) => values[kind])),
    }
  }
  const bounds = backwards
    ? [boundOf("from", "<="), boundOf("after", "<"), boundOf("to", ">=")]
    : [boundOf("from", ">="), boundOf("after", ">"), boundOf("to", "<=")]
  const within = dialect.within({
    equal: equal.map((column) => ({
      column: columnOf(column),
      parameter: parameter(column, column, (values) => values.of),
    })),
    bounds: bounds.filter((bound) => bound.columns.length > 0),
    hasRival: indices.some((other) => other.columns[0]?.propertyName === order[0]),
  })

  const select = join(table.selectFrom(alias).select(options.select).limit(options.limit).offset(options.offset))
  // Without the hint a server may read whole rows where most rows of the table are selected, or choose another index.
  select.useIndex(index)
  if (withDeleted) select.withDeleted()
  const condition = [within, options.where].filter(Boolean).join(" AND ")
  if (condition !== "") select.where(condition)
  // MariaDB and PostgreSQL know that the rows are ordered only if the first columns of the index are among the order.
  if (isOrdered) for (const column of columns) select.addOrderBy(columnOf(column), backwards ? "DESC" : "ASC")
  if (options.ifLocked !== undefined) dialect.locking(select, options.ifLocked)
  const made = statement<ObjectLiteral, Values>(select, { ...parameters, ...options.parameters })
  // With USE a server may still scan the table.
  return { ...made, sql: made.sql.replace(" USE INDEX (", " FORCE INDEX ("), along: { alias, walk } }
}
