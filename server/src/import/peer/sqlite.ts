import { hash } from "node:crypto"
import { statSync } from "node:fs"
import type { SQLInputValue } from "node:sqlite"
import { StartError } from "../../errors/start-error.js"
import { nodeSqlite } from "../../store/sql/index.js"
import { type Dialect, pageStatement, repeatedStatement, type Source, type SourcePage } from "./source.js"
import { decoded, isBroken } from "./values.js"

const dialect: Dialect = {
  quote: (name) => `"${name.replaceAll('"', '""')}"`,
  parameter: (_number, value) => (isBroken(value) ? "CAST(? AS TEXT)" : "?"),
}

/** How long a read waits while another process commits, in milliseconds. */
const busyTimeoutMs = 10_000

/** Opens a SQLite file. Throws StartError if the file does not exist. */
export async function sqliteSource(path: string): Promise<Source> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw new StartError(`--url: there is no file ${path}`)
  // Not writable. Otherwise closing it would move the write-ahead log of another process into the file.
  const database = new (nodeSqlite().DatabaseSync)(path, { readOnly: true, timeout: busyTimeoutMs })
  database.function("sha256", { deterministic: true }, (bytes) => hash("sha256", bytes as Uint8Array))
  // With a write-ahead log, all reads see one state of the database. Without one, a transaction that lasts would keep the
  // application from committing.
  const journal = database.prepare("PRAGMA journal_mode").get()?.journal_mode
  if (journal === "wal") database.exec("BEGIN")
  const rows = (sql: string, ...parameters: string[]): Record<string, unknown>[] =>
    database.prepare(sql).all(...parameters)
  // The bytes of a text are read as they are stored.
  if (rows("PRAGMA encoding")[0]?.encoding !== "UTF-8") {
    throw new StartError("--url: the file stores text in UTF-16: copy it with sqlite3's .dump into a new file")
  }
  const { quote } = dialect

  /** Without a write-ahead log, what belongs together is read at once: the application cannot commit meanwhile. */
  function inOneState({ rows, digests }: { rows: () => unknown[][]; digests: () => unknown[] }): SourcePage {
    if (journal === "wal") return { rows: rows(), digests: async () => digests() }
    database.exec("BEGIN")
    try {
      const [read, computed] = [rows(), digests()]
      return { rows: read, digests: async () => computed }
    } finally {
      database.exec("COMMIT")
    }
  }

  function cells(sql: string, parameters: unknown[]): unknown[][] {
    const bound = parameters.map((value) => (isBroken(value) ? value.brokenText : value))
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    return statement.all(...(bound as SQLInputValue[])) as unknown as unknown[][]
  }

  return {
    tables: async () =>
      rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").map(({ name }) => String(name)),

    async describe(name) {
      const columns = rows("SELECT name, type, pk FROM pragma_table_info(?)", name)
      const [{ type, wr } = {}] = rows("SELECT type, wr FROM pragma_table_list WHERE name = ?", name)
      const primary = columns.filter(({ pk }) => Number(pk) > 0).sort((one, other) => Number(one.pk) - Number(other.pk))
      // Every table has a rowid unless it was created WITHOUT ROWID. The primary key of such a table is never null. A
      // column of the same name hides the rowid, which has other names too.
      const hidden = columns.map((column) => String(column.name).toLowerCase())
      const rowid = ["rowid", "_rowid_", "oid"].filter((one) => !hidden.includes(one)).slice(0, 1)
      const key = Number(wr) === 0 ? rowid : primary.map((column) => String(column.name))
      return {
        name,
        key: type === "view" ? [] : key,
        otherKind: type === "view" ? "view" : undefined,
        columns: columns.map((column) => ({
          name: String(column.name),
          type: String(column.type).toLowerCase(),
          maxLength: undefined,
          folds: false,
        })),
      }
    },

    count: async (name) => Number(rows(`SELECT COUNT(*) AS n FROM ${quote(name)}`)[0]?.n),
    isUnique: async (name, columns) => rows(repeatedStatement(quote(name), columns.map(quote))).length === 0,

    async page(table, after, limit) {
      // The driver would change a text that is not UTF-8. So it gets bytes, and for each row the types of the cells.
      const all = [...table.columns.map((column) => quote(column.name)), ...table.key.map(quote)]
      const bytes = all.map((cell) => `CASE typeof(${cell}) WHEN 'text' THEN CAST(${cell} AS BLOB) ELSE ${cell} END`)
      const types = all.map((cell) => `substr(typeof(${cell}), 1, 1)`).join(" || ")
      const read = (select: string[]) => {
        const { sql, parameters } = pageStatement(dialect, table, { select, from: quote(table.name), after, limit })
        return cells(sql, parameters)
      }
      const written = table.columns.map(({ name }) => writtenAs(quote(name)))
      const digests = () => read([`sha256(CAST(${written.join(" || ")} AS BLOB))`]).flat()
      const rows = () =>
        read([...bytes, types]).map((row) => {
          const kinds = String(row.pop())
          // The key cells follow the column cells. They stay integers, because they are parameters of the next page.
          return row.map((cell, index) => plain(cell, kinds[index] === "t", index < table.columns.length))
        })
      return inOneState({ rows, digests })
    },

    close: async () => void database.close(),
  }
}

/** Returns an expression for a cell as `rowDigest` writes it. */
function writtenAs(cell: string): string {
  const whole = `${cell} = CAST(${cell} AS INTEGER) AND abs(${cell}) < 9007199254740992`
  const fraction = `'~' || iif(abs(${cell}) < 1e12, CAST(${cell} * 1000 AS INTEGER), '')`
  const number = `iif(${whole}, CAST(${cell} AS INTEGER), ${fraction})`
  const value = `iif(typeof(${cell}) = 'real', ${number}, ${cell})`
  return `iif(${cell} IS NULL, '-', octet_length(${value}) || ':' || ${value})`
}

/** Converts a cell: bytes of a text to the text, an integer to a number, or to text if that is not exact. */
function plain(cell: unknown, isText: boolean, asText: boolean): unknown {
  if (cell instanceof Uint8Array) {
    const bytes = Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength)
    return isText ? decoded(bytes) : bytes
  }
  if (typeof cell !== "bigint") return cell
  const number = Number(cell)
  if (Number.isSafeInteger(number)) return number
  return asText ? String(cell) : cell
}
