import type { Bound, Dialect, Stretch } from "../schema/dialect.js"

/**
 * How each engine is told to read a stretch of an index. The engines find the place in an index by different forms of the same
 * condition; with another form they read all rows of a tenant or a user, and perhaps sort them. The suite of plans asks each engine.
 */

type Within = Dialect["within"]

const all = (conditions: readonly string[]) => conditions.join(" AND ")
const list = (names: readonly string[]) => (names.length === 1 ? String(names[0]) : `(${names.join(", ")})`)

const isEqual = ({ column, parameter }: Stretch["equal"][number]) => `${column} = ${parameter}`

/** Compares rows: `(a, b) > (:a, :b)`. */
const asRow = ({ columns, operator, parameters }: Bound) => `${list(columns)} ${operator} ${list(parameters)}`

/** Compares rows of two columns or more, for the same result. */
const asPair = ({ columns, operator, parameters }: Bound) => {
  const twice = <Item>(items: readonly Item[]) => (items.length === 1 ? [...items, ...items] : items)
  return asRow({ operator, columns: twice(columns), parameters: twice(parameters) })
}

/** Compares column by column: `(a > :a OR (a = :a AND b > :b))`. */
function byColumns({ columns, operator, parameters }: Bound): string {
  const strict = operator.charAt(0)
  return columns.reduceRight((rest, column, n) => {
    const parameter = parameters[n]
    if (rest === "") return `${column} ${operator} ${parameter}`
    return `(${column} ${strict} ${parameter} OR (${column} = ${parameter} AND ${rest}))`
  }, "")
}

/** SQLite prefers an index with a range between two ends to one with a further equality, unless that is said to be unlikely. */
export const sqliteStretch: Within = ({ equal, bounds }) =>
  all([...equal.map((one, n) => (n === 0 ? isEqual(one) : `unlikely(${isEqual(one)})`)), ...bounds.map(asRow)])

export const mysqlStretch: Within = ({ equal, bounds }) => all([...equal.map(isEqual), ...bounds.map(byColumns)])

/** With an equality MariaDB reads all rows that have the value, so it is told a range. */
export const mariadbStretch: Within = ({ equal, bounds }) =>
  all([
    ...equal.map(({ column, parameter }) => `${column} >= ${parameter} AND ${column} <= ${parameter}`),
    ...bounds.map(byColumns),
  ])

/**
 * PostgreSQL plans a statement for any values. With an equality in a column after the tenant it expects few rows, reads all of them and
 * sorts them. With a range it expects many, and reads them in the order of the index. So this column is a part of the bounds, and the
 * tenant is if PostgreSQL could follow the order by another index, over the rows of all tenants. Between two bounds of one column it
 * expects few rows too, but not between rows.
 */
export const postgresStretch: Within = ({ equal, bounds, hasRival }) => {
  const last = equal.length > 1 || hasRival ? equal.at(-1) : undefined
  if (last === undefined) return all([...equal.map(isEqual), ...bounds.map(bounds.length > 1 ? asPair : asRow)])
  const { column, parameter } = last
  const sides = [">", "<"].map((side) => {
    const bound = bounds.find(({ operator }) => operator.startsWith(side))
    if (bound === undefined) return `${column} ${side}= ${parameter}`
    return asRow({ ...bound, columns: [column, ...bound.columns], parameters: [parameter, ...bound.parameters] })
  })
  return all([...equal.slice(0, -1).map(isEqual), ...sides])
}
