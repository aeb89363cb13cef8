import { createConnection, type RowDataPacket, type TypeCast } from "mysql2/promise"
import { connectionOptions, type ServerLocation } from "../../store/sql/index.js"
import { replicaDoubt } from "../replica.js"
import {
  type Dialect,
  pageStatement,
  pagingKey,
  repeatedStatement,
  type Source,
  type SourceColumn,
  type SourceTable,
} from "./source.js"

const dialect: Dialect = { quote: (name) => `\`${name.replaceAll("`", "``")}\``, parameter: () => "?" }

/** Reads floating-point numbers as the server writes them. The other types are read as the options say. */
const typeCast: TypeCast = (field, next) => (/^(FLOAT|DOUBLE)$/.test(field.type) ? field.string() : next())

/** Opens a MySQL or MariaDB database. The session keeps the server's time zone, which the peer's adapter used. */
export async function mysqlSource(location: ServerLocation): Promise<Source> {
  const connection = await createConnection({
    ...connectionOptions(location),
    charset: "utf8mb4",
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    // Otherwise the JSON string "1" could not be told from the number 1.
    jsonStrings: true,
  })
  // Prevents a crash by an unhandled error event. The next query reports the error.
  connection.on("error", () => {})
  const rows = async (sql: string, parameters: unknown[] = []) =>
    (await connection.query<RowDataPacket[]>(sql, parameters))[0]
  const { quote } = dialect
  // One state of the database for all reads. The server rejects a statement that writes.
  await connection.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
  await connection.query("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

  return {
    tables: async () =>
      (await rows("SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")).map(
        ({ name }) => String(name),
      ),

    replica: () => replicaDoubt("mysql", rows),

    async describe(name) {
      const [relation] = await rows(
        "SELECT TABLE_TYPE AS type FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
        [name],
      )
      const columns = await rows(
        `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, CHARACTER_MAXIMUM_LENGTH AS length, COLLATION_NAME AS collation
           FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
        [name],
      )
      const indexes = await rows(
        `SELECT INDEX_NAME AS name, COLUMN_NAME AS \`column\`, NULLABLE AS nullable
           FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND NON_UNIQUE = 0
           ORDER BY INDEX_NAME, SEQ_IN_INDEX`,
        [name],
      )
      const key = pagingKey(
        indexes.map((row) => ({
          index: String(row.name),
          column: String(row.column),
          isPrimary: row.name === "PRIMARY",
          isNullable: row.nullable === "YES",
        })),
      )
      return {
        name,
        key,
        otherKind: relation?.type === "VIEW" ? "view" : undefined,
        columns: columns.map((row) => ({
          name: String(row.name),
          type: String(row.type).toLowerCase(),
          maxLength: row.length === null ? undefined : Number(row.length),
          folds: row.collation !== null && !/^binary$|_0900_bin$/.test(String(row.collation)),
          isOpaque: /^(geom|point|line|polygon|multi|vector)/i.test(String(row.type)),
        })),
      }
    },

    count: async (name) => Number((await rows(`SELECT COUNT(*) AS n FROM ${quote(name)}`))[0]?.n),
    isUnique: async (name, columns) => (await rows(repeatedStatement(quote(name), columns.map(quote)))).length === 0,

    async page(table, after, limit) {
      const numbered = table.key.map((name) => isNumbered(table, name))
      const keys = table.key.map((name, index) => (numbered[index] ? `CAST(${quote(name)} AS UNSIGNED)` : quote(name)))
      const select = [...table.columns.map((column) => quote(column.name)), ...keys]
      const read = async (expressions: string[]) => {
        const page = { select: expressions, from: quote(table.name), after, limit }
        const { sql, parameters } = pageStatement(dialect, table, page)
        return (await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true, typeCast }, parameters))[0]
      }
      const written = table.columns.filter(({ isOpaque }) => !isOpaque).map(writtenAs)
      const digest = `SHA2(CONCAT(${written.join(", ")}), 256)`
      const rows = await read(select)
      // The driver returns these numbers as text.
      for (const [index, isNumber] of numbered.entries()) {
        const cell = table.columns.length + index
        if (isNumber) for (const cells of rows) cells[cell] = Number(cells[cell]) as never
      }
      return { rows, digests: async () => (await read([digest])).flat() }
    },

    close: () => connection.end(),
  }
}

/** Whether rows are paged by numbers: an ENUM is ordered by its values' numbers, but compared as text. */
function isNumbered({ columns }: SourceTable, name: string): boolean {
  return columns.some((column) => column.name === name && /^(enum|set)\b/.test(column.type))
}

/** Returns an expression for a cell as `rowDigest` writes it. */
function writtenAs({ name, type }: SourceColumn): string {
  const cell = dialect.quote(name)
  // The server sends other values as text in UTF-8. The driver makes numbers of years and of most integers, without the
  // zeros before them.
  const text = /^(year|(tiny|small|medium)?int\b.*zerofill)/.test(type) ? `(${cell} + 0)` : cell
  const value = /^(bit|binary|varbinary|\w*blob)/.test(type) ? cell : `CAST(CONVERT(${text} USING utf8mb4) AS BINARY)`
  return `IFNULL(CONCAT(OCTET_LENGTH(${value}), ':', ${value}), '-')`
}
