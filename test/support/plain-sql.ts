import type { Cell, Statement } from "../../server/src/store/sql/query/statement.js"

/** A statement that a test has written out, whose values are its cells. */
export function plainSql(sql: string): Statement<Cell[]> {
  return { sql, cells: (cells) => cells }
}
