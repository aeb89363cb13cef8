import { Client } from "pg"
import { parse as parseArray } from "postgres-array"
import { clientConfig, type PostgresLocation } from "../../store/sql/index.js"
import { type Dialect, pageStatement, pagingKey, type Source } from "./source.js"

const dialect: Dialect = { quote: (name) => `"${name.replaceAll('"', '""')}"`, parameter: (number) => `$${number}` }

/** The form of values, and no end of the transaction while the target is written. */
const settings = ["datestyle = 'ISO'", "bytea_output = 'hex'", "idle_in_transaction_session_timeout = 0"]

/**
 * Opens a PostgreSQL database. The tables are those of the URL's `schema`, else of the first schema of the role's
 * `search_path`. Everything is read in one transaction, and nothing is set beyond it: behind a pooler the connection is
 * the application's afterwards.
 */
export async function postgresSource(location: PostgresLocation): Promise<Source> {
  const { applicationName = "authwire import" } = location
  const client = new Client({
    ...clientConfig({ ...location, applicationName, schema: undefined }),
    // By default this driver waits without limit, unlike that of MySQL.
    connectionTimeoutMillis: 10_000,
    // Every value stays text as the server writes it. Large integers lose no digits, and dates are not converted to the
    // local time zone.
    types: { getTypeParser: () => String },
  })
  // Prevents a crash by an unhandled error event. The next query reports the error.
  client.on("error", () => {})
  await client.connect()
  const rows = async (text: string, values: unknown[] = []) =>
    (await client.query<(string | null)[]>({ text, values, rowMode: "array" })).rows
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  for (const setting of settings) await client.query(`SET LOCAL ${setting}`)
  const schema = location.schema ?? String((await rows("SELECT current_schema()"))[0]?.[0] ?? "public")
  const qualified = (name: string) => `${dialect.quote(schema)}.${dialect.quote(name)}`

  return {
    tables: async () =>
      (
        await rows(
          `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f')`,
          [schema],
        )
      ).map(([name]) => String(name)),

    async describe(name) {
      const columns = await rows(
        `SELECT a.attname, format_type(a.atttypid, a.atttypmod), l.collisdeterministic
           FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
           WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
        [qualified(name)],
      )
      const indexes = await rows(
        `SELECT i.indexrelid, a.attname, i.indisprimary, NOT a.attnotnull
           FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (attnum, position)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
           WHERE i.indrelid = $1::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
           ORDER BY i.indexrelid, k.position`,
        [qualified(name)],
      )
      const key = pagingKey(
        name,
        indexes.map(([index, column, isPrimary, isNullable]) => ({
          index: String(index),
          column: String(column),
          isPrimary: isPrimary === "t",
          isNullable: isNullable === "t",
        })),
      )
      return {
        name,
        key,
        columns: columns.map(([column, type, isDeterministic]) => ({
          name: String(column),
          type: String(type),
          maxLength: lengthOf(String(type)),
          folds: type === "citext" || isDeterministic === "f",
        })),
      }
    },

    count: async (name) => Number((await rows(`SELECT count(*) FROM ${qualified(name)}`))[0]?.[0]),

    async page(table, range, limit) {
      const { sql, parameters } = pageStatement(dialect, table, range, limit, qualified(table.name))
      const readers = table.columns.map(({ type }) => cellReader(type))
      // The key cells follow the column cells. They have no reader, because they are parameters of the next page in the
      // server's form.
      return (await rows(sql, parameters)).map((cells) =>
        cells.map((cell, index) => (cell === null ? null : (readers[index]?.(cell) ?? cell))),
      )
    },

    close: () => client.end(),
  }
}

/** Returns a function that converts the text of a value: to bytes, to a list, or not at all. */
function cellReader(type: string): (text: string) => unknown {
  if (type === "bytea") return (text) => Buffer.from(text.slice("\\x".length), "hex")
  if (!type.endsWith("[]")) return (text) => text
  const element = cellReader(type.slice(0, -"[]".length))
  return (text) => parseArray(text, element)
}

function lengthOf(type: string): number | undefined {
  const length = /^character(?: varying)?\((\d+)\)$/.exec(type)?.[1]
  return length === undefined ? undefined : Number(length)
}
