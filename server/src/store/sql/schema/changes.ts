import type { ObjectLiteral, QueryBuilder } from "typeorm"
import { type Cell, type Change, type Statement, statement } from "../query/statement.js"

/** Makes a change of the values for it. */
export type ChangeOf<Values> = (values: Values) => Change

/**
 * In which order the rows of tables change that are committed together: what others refer to comes before them. An event comes
 * after what it tells of, whose lock decides the order of events; and a key last, because nobody waits for a row while it has a key.
 */
const orderOfChanges = [
  "users",
  "accounts",
  "sessions",
  "verification_tokens",
  "authenticators",
  "events",
  "idempotency_keys",
]

/**
 * Inserts of rows into a table.
 *
 * @param several the statement that inserts so many of them
 */
export function insertsInto<Row>(
  tableName: string,
  one: Statement<Row>,
  several: (count: number) => Statement<readonly Row[]>,
): ChangeOf<Row> {
  const { sql } = one
  const shared = {
    kind: `insert ${tableName}`,
    rank: orderOfChanges.indexOf(tableName),
    mustMatch: false,
    mayStandTwice: false,
    sqlOf: oncePerCount((count) => several(count).sql),
  }
  return (row) => ({ ...shared, sql, cells: one.cells(row) })
}

/** How rows are changed that a condition finds. */
export interface RowChange<Values> {
  /** What is done to the table. */
  readonly name: string
  /** Finds one row, by parameters with this behind their names. */
  condition(suffix: string): string
  /** For each parameter what makes its cell. */
  readonly parameters: Readonly<Record<string, (values: Values) => Cell>>
  /** Builds the statement that changes the rows of a condition. */
  where(condition: string): QueryBuilder<ObjectLiteral>
  /** See Change. */
  readonly mustMatch: boolean
}

/** Changes of rows of a table that a condition finds; a statement for several has their conditions as alternatives. */
export function changesOfRows<Values>(
  tableName: string,
  { name, condition, parameters, where, mustMatch }: RowChange<Values>,
): ChangeOf<Values> {
  const statementOf = (count: number) => {
    const indexes = Array.from({ length: count }, (_, index) => index)
    const all = indexes.flatMap((index) =>
      Object.entries(parameters).map(([parameter, make]) => [
        `${parameter}${index}`,
        (values: readonly Values[]) => make(values[index] as Values),
      ]),
    )
    const conditions = indexes.map((index) => `(${condition(String(index))})`)
    return statement<ObjectLiteral, readonly Values[]>(where(conditions.join(" OR ")), Object.fromEntries(all))
  }
  const one = statementOf(1)
  const { sql } = one
  const shared = {
    kind: `${name} ${tableName}`,
    rank: orderOfChanges.indexOf(tableName),
    mustMatch,
    mayStandTwice: true,
    sqlOf: oncePerCount((count) => statementOf(count).sql),
  }
  return (values) => ({ ...shared, sql, cells: one.cells([values]) })
}

/** To build a statement takes far longer than to run it. */
function oncePerCount(build: (count: number) => string): (count: number) => string {
  const built = new Map<number, string>()
  return (count) => {
    const sql = built.get(count) ?? build(count)
    built.set(count, sql)
    return sql
  }
}
