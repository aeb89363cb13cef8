import { isUtf8 } from "node:buffer"
import type { Database } from "./database.js"
import type { Cell } from "./query/statement.js"

/** A text that the service never stores, because it is not UTF-8 or has U+0000. */
export interface UnreadableText {
  table: string
  column: string
  /** The row's `rowid` in SQLite. */
  rowid: number
}

const pageSize = 1000

/**
 * Finds texts in SQLite that another program has stored: its driver returns U+FFFD for what is not UTF-8, and no
 * field may have U+0000. The other databases check their text. Every row is read, as bytes.
 *
 * @param newest How many of the last rowids of each table are examined. Default: all.
 */
export async function* unreadableTexts(
  database: Database,
  newest = Number.POSITIVE_INFINITY,
): AsyncGenerator<UnreadableText> {
  if (database.dialect.checksText) return
  const read = (sql: string, ...cells: Cell[]) => database.reads({}).read({ sql, cells: () => cells }, undefined)
  for (const { tableName: table, columns } of database.dataSource.entityMetadatas) {
    const names = columns.map(({ databaseName }) => databaseName)
    const texts = names.map((name) => `iif(typeof("${name}") = 'text', "${name}", '')`).join(" || char(10) || ")
    const [[end] = []] = (await read(`SELECT MAX(rowid) FROM "${table}"`)) as [number | null][]
    for (let last = Math.max((end ?? 0) - newest, Number.MIN_SAFE_INTEGER); ; ) {
      const sql = `SELECT rowid, CAST(${texts} AS BLOB) FROM "${table}" WHERE rowid > ? ORDER BY rowid LIMIT ${pageSize}`
      const rows = (await read(sql, last)) as [number, Buffer][]
      for (const [rowid, bytes] of rows) {
        if (isSound(bytes)) continue
        for (const column of names) {
          const one = `SELECT CAST("${column}" AS BLOB) FROM "${table}" WHERE rowid = ? AND typeof("${column}") = 'text'`
          const [[text] = []] = (await read(one, rowid)) as Buffer[][]
          if (text !== undefined && !isSound(text)) yield { table, column, rowid }
        }
      }
      if (rows.length < pageSize) break
      last = rows.at(-1)?.[0] as number
    }
  }
}

function isSound(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}
