import type { ObjectLiteral, SelectQueryBuilder } from "typeorm"
import { type Cell, type Statement, type Statements, statement } from "./statement.js"

/** The most entries of an index that one statement counts. They take about 1 ms. */
export const countedAtOnce = 5_000

/** A table with an index on the tenant, the time of creation and the id. */
interface CreatedTable {
  selectFrom(alias: string): SelectQueryBuilder<ObjectLiteral>
  cell(name: "tenant" | "id", value: string): Cell
  cell(name: "created", value: Date): Cell
  value(name: "id", cell: Cell): string
  value(name: "created", cell: Cell): Date | undefined
}

/** The last row that was counted. With an empty id: the time from which on rows are counted. */
interface Position {
  created: Date
  id: string
}

/** Whose rows are counted: those that were created at `since` or later, and before `before`. */
export interface Counted {
  tenant: string
  since: Date
  before: Date
}

interface Slice<Values extends Counted> {
  values: Values
  after: Position
  end: Position
}

/** A condition on the rows, for the table alias. */
interface CountCondition<Values> {
  sql: string
  parameters: Readonly<Record<string, (values: Values) => Cell>>
  /** The most rows that one statement examines. */
  atOnce: number
}

/**
 * Counts the rows of a tenant by their creation, in slices, between which other callers have their turns. Without a condition it reads
 * the index only. Rows that are marked as deleted are counted too, because the index does not say which ones they are.
 */
export function countByCreation<Values extends Counted = Counted>(
  table: CreatedTable,
  { alias, index, only }: { alias: string; index: string; only?: CountCondition<Values> },
): (sql: Pick<Statements, "read">, values: Values) => Promise<number> {
  const atOnce = only?.atOnce ?? countedAtOnce
  // Each comparison is given in two forms, because SQLite finds the place in the index by the first and the servers by the second.
  const [tenant, created, id] = [`${alias}.tenant`, `${alias}.created`, `${alias}.id`]
  const isAfter =
    `${tenant} = :tenant AND (${created}, ${id}) > (:created, :id)` +
    ` AND (${created} > :created OR (${created} = :created AND ${id} > :id))`
  const isBefore = `${created} < :before`
  const isUpToEnd =
    `(${created}, ${id}) <= (:endCreated, :endId)` +
    ` AND (${created} < :endCreated OR (${created} = :endCreated AND ${id} <= :endId))`
  const ofStart = {
    tenant: ({ values }: Slice<Values>) => table.cell("tenant", values.tenant),
    created: ({ after }: Slice<Values>) => table.cell("created", after.created),
    id: ({ after }: Slice<Values>) => table.cell("id", after.id),
  }
  const toTheLast = { ...ofStart, before: ({ values }: Slice<Values>) => table.cell("created", values.before) }
  // Without the hint, the servers read whole rows if most rows of the table are selected.
  const byIndex = (what: string, until: string) =>
    table.selectFrom(alias).select(what).withDeleted().useIndex(index).where(isAfter).andWhere(until)
  const lastOfSlice: Statement<Slice<Values>> = statement(
    byIndex(`${created}, ${id}`, isBefore)
      .orderBy(created)
      .addOrderBy(id)
      .offset(atOnce - 1)
      .limit(1),
    toTheLast,
  )
  // With `before` as well, SQLite would read to the last row for each slice. The CASE prevents the use of other indexes.
  const count: Statement<Slice<Values>> =
    only === undefined
      ? statement(byIndex("COUNT(*)", isBefore), toTheLast)
      : statement(byIndex("COUNT(*)", isUpToEnd).andWhere(`CASE WHEN ${only.sql} THEN TRUE ELSE FALSE END`), {
          ...ofStart,
          endCreated: ({ end }) => table.cell("created", end.created),
          endId: ({ end }) => table.cell("id", end.id),
          ...Object.fromEntries(
            Object.entries(only.parameters).map(([name, make]) => [name, ({ values }: Slice<Values>) => make(values)]),
          ),
        })

  return async (sql, values) => {
    const last = { created: values.before, id: "" }
    let after: Position = { created: values.since, id: "" }
    for (let counted = 0; ; ) {
      const [cells] = await sql.read(lastOfSlice, { values, after, end: last })
      const end = cells && {
        created: table.value("created", cells[0] as Cell) as Date,
        id: table.value("id", cells[1] as Cell),
      }
      const isWhole = end !== undefined && only === undefined
      counted += isWhole ? atOnce : Number((await sql.read(count, { values, after, end: end ?? last }))[0]?.[0])
      if (end === undefined) return counted
      after = end
    }
  }
}
