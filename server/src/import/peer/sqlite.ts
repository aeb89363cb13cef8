import { existsSync } from "node:fs"
import { StartError } from "../../errors/start-error.js"
import { openSqliteToRead } from "../sqlite.js"
import { type Dialect, pageStatement, type Source } from "./source.js"

const dialect: Dialect = { quote: (name) => `"${name.replaceAll('"', '""')}"`, parameter: () => "?" }

/** Opens a SQLite file. Throws StartError if the file does not exist. */
export async function sqliteSource(path: string): Promise<Source> {
  if (!existsSync(path)) throw new StartError(`--url: there is no file ${path}`)
  const database = openSqliteToRead(path)
  // With a write-ahead log, all reads see one state of the database. Without one, a transaction that lasts would keep the
  // application from committing.
  const [{ journal_mode: journal } = {}] = database.pragma("journal_mode") as { journal_mode?: string }[]
  if (journal === "wal") database.exec("BEGIN")
  const rows = (sql: string, ...parameters: unknown[]) =>
    database.prepare(sql).all(parameters) as Record<string, unknown>[]

  return {
    tables: async () => rows("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name)),

    async describe(name) {
      const columns = rows("SELECT name, type, pk FROM pragma_table_info(?)", name)
      const [{ wr } = {}] = rows("SELECT wr FROM pragma_table_list WHERE name = ?", name)
      const primary = columns.filter(({ pk }) => Number(pk) > 0).sort((one, other) => Number(one.pk) - Number(other.pk))
      return {
        name,
        // Every table has a rowid unless it was created WITHOUT ROWID. The primary key of such a table is never null.
        key: Number(wr) === 0 ? ["rowid"] : primary.map((column) => String(column.name)),
        columns: columns.map((column) => ({
          name: String(column.name),
          type: String(column.type).toLowerCase(),
          maxLength: undefined,
          folds: false,
        })),
      }
    },

    count: async (name) => Number(rows(`SELECT COUNT(*) AS n FROM ${dialect.quote(name)}`)[0]?.n),

    async page(table, range, limit) {
      const { sql, parameters } = pageStatement(dialect, table, range, limit)
      const found = database.prepare(sql).safeIntegers().raw().all(parameters) as unknown[][]
      // The key cells follow the column cells. They stay integers, because they are parameters of the next page.
      return found.map((cells) => cells.map((cell, index) => plain(cell, index < table.columns.length)))
    },

    close: async () => void database.close(),
  }
}

/** Converts an integer of the driver to a number. One that Number cannot represent exactly becomes text, or stays as it is. */
function plain(cell: unknown, asText: boolean): unknown {
  if (typeof cell !== "bigint") return cell
  const number = Number(cell)
  if (Number.isSafeInteger(number)) return number
  return asText ? String(cell) : cell
}
