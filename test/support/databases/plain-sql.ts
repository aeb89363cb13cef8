import type { Cell, Statement } from "../../../server/src/store/sql/query/statement.js"
import type { DatabaseTarget } from "./databases.js"
import { numbered } from "./postgres-database.js"

/** A statement that a test has written out with `?` for each parameter, whose values are its cells. */
export function plainSql(sql: string, target?: DatabaseTarget): Statement<Cell[]> {
  return { sql: target === "postgres" ? numbered(sql) : sql, cells: (cells) => cells }
}
