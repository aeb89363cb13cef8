import type { ObjectLiteral, QueryBuilder } from "typeorm"
import { oncePer } from "../../../util/once-per.js"
import { type Cell, type Change, itemParameters, type Statement, statement } from "../query/statement.js"

/** Creates a change from the values for its parameters. */
export type ChangeOf<Values> = (values: Values) => Change

/**
 * The order in which rows of different tables change in one transaction. A table that is referenced comes before those
 * that reference it. An event comes after the write that it records, because the row lock of that write decides the
 * order of events. An idempotency key comes last, so that no transaction waits for another row while it has locked a
 * key.
 */
const orderOfChanges = [
  "users",
  "accounts",
  "sessions",
  "verification_tokens",
  "authenticators",
  "ended_tokens",
  "events",
  "idempotency_keys",
]

/**
 * Creates inserts of rows into a table.
 *
 * @param name the operation. Inserts with other statements have other names.
 * @param several returns the statement that inserts `count` rows.
 */
export function insertsInto<Row>(
  tableName: string,
  name: string,
  one: Statement<Row>,
  several: (count: number) => Statement<readonly Row[]>,
): ChangeOf<Row> {
  const { sql } = one
  const shared = {
    kind: `${name} ${tableName}`,
    rank: orderOfChanges.indexOf(tableName),
    mustMatch: false,
    isIdempotent: false,
    sqlOf: oncePer((count: number) => several(count).sql),
  }
  return (row) => ({ ...shared, sql, cells: one.cells(row) })
}

/** A change of the rows that match a condition. */
export interface RowChange<Values> {
  /** The operation, such as `delete`. */
  readonly name: string
  /** Returns the condition that finds one row. Its parameter names end with the suffix. */
  condition(suffix: string): string
  /** The parameters of the condition: for each name the function that makes its cell. */
  readonly parameters: Readonly<Record<string, (values: Values) => Cell>>
  /** Builds the statement that changes the rows of a condition. */
  where(condition: string): QueryBuilder<ObjectLiteral>
  /** See Change. */
  readonly mustMatch: boolean
}

/**
 * Creates changes of rows that match a condition. A statement for several changes combines their conditions with OR.
 */
export function changesOfRows<Values>(
  tableName: string,
  { name, condition, parameters, where, mustMatch }: RowChange<Values>,
): ChangeOf<Values> {
  const statementOf = (count: number) => {
    const all = itemParameters(count, (values: readonly Values[]) => values, parameters)
    const conditions = all.names.map((_, index) => `(${condition(String(index))})`)
    return statement(where(conditions.join(" OR ")), all.parameters)
  }
  const one = statementOf(1)
  const { sql } = one
  const shared = {
    kind: `${name} ${tableName}`,
    rank: orderOfChanges.indexOf(tableName),
    mustMatch,
    isIdempotent: true,
    sqlOf: oncePer((count: number) => statementOf(count).sql),
  }
  return (values) => ({ ...shared, sql, cells: one.cells([values]) })
}
