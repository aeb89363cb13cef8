import type { ObjectLiteral } from "typeorm"
import type { Database, Reads } from "../database.js"
import type { Cell } from "../query/statement.js"
import type { Tables } from "../schema/tables.js"
import { alongIndex, type Reach } from "./along.js"
import type { Filter } from "./list.js"
import type { AnyWalk } from "./walks.js"

/** The most entries of an index that one statement counts. They take about 1 ms. */
export const countedAtOnce = 5_000

/** Whose rows are counted: those that were created at `since` or later, and before `before`. */
export interface Counted {
  tenant: string
  since: Date
  before: Date
}

/** A position in the order of creation. */
interface Position {
  created: Date
  id: string
}

/**
 * Counts the rows of a tenant by their creation, in slices, between which other callers have their turns. Without a filter it reads
 * the index only. Rows that are marked as deleted are counted too, because the index does not say which ones they are.
 *
 * @param walk by the time of creation and the id.
 * @param alias of the table.
 * @param filter with the most rows that one statement examines.
 */
export function countAlong<More extends object = object>(
  database: Database,
  walk: AnyWalk,
  { alias, filter }: { alias: string; filter?: Filter<More> & { atOnce: number } },
): (sql: Reads, values: Counted & More) => Promise<number> {
  type Values = Reach<ObjectLiteral> & More
  const table = database.tables[walk.table] as Tables["sessions"]
  const atOnce = filter?.atOnce ?? countedAtOnce
  const bounds = { alias, after: walk.order, to: walk.order, withDeleted: true }
  const lastOfSlice = alongIndex<ObjectLiteral, Values>(database, table, walk, {
    ...bounds,
    select: `${alias}.created, ${alias}.id`,
    offset: atOnce - 1,
    limit: 1,
  })
  const count = alongIndex<ObjectLiteral, Values>(database, table, walk, {
    ...bounds,
    select: "COUNT(*)",
    isOrdered: false,
    // The CASE prevents the use of other indexes.
    where: filter && `CASE WHEN ${filter.condition} THEN TRUE ELSE FALSE END`,
    parameters: filter?.parameters ?? {},
  })

  return async (sql, { tenant, since, before, ...more }) => {
    const reach = (after: Position, to: Position) => ({ ...more, of: { tenant }, after, to }) as unknown as Values
    // No id is empty.
    const last = { created: before, id: "" }
    let after: Position = { created: since, id: "" }
    for (let counted = 0; ; ) {
      const [cells] = await sql.read(lastOfSlice, reach(after, last))
      const end = cells && {
        created: table.value("created", cells[0] as Cell) as Date,
        id: table.value("id", cells[1] as Cell) as string,
      }
      const isWhole = end !== undefined && filter === undefined
      counted += isWhole ? atOnce : Number((await sql.read(count, reach(after, end ?? last)))[0]?.[0])
      if (end === undefined) return counted
      after = end
    }
  }
}
