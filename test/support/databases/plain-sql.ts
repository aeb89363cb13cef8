import type { Cell, Statement } from "../../../server/src/store/sql/query/statement.js"
import type { DatabaseTarget } from "./databases.js"
import { numbered } from "./postgres-database.js"

/** A statement written in the test, with `?` for each parameter. Its values are the cells of the parameters. */
export function plainSql(sql: string, target?: DatabaseTarget): Statement<Cell[]> {
  return { sql: target === "postgres" ? numbered(sql) : sql, cells: (cells) => cells }
}
