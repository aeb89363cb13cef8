import { Client } from "pg"
import { parse as parseArray } from "postgres-array"
import { type Dialect, pageStatement, pagingKey, type Source } from "./source.js"

const dialect: Dialect = { quote: (name) => `"${name.replaceAll('"', '""')}"`, parameter: (number) => `$${number}` }

/** Opens a PostgreSQL database. The parameter `schema` of the URL names the schema, as in Prisma. */
export async function postgresSource(url: string): Promise<Source> {
  const location = new URL(url)
  const schema = location.searchParams.get("schema") ?? "public"
  location.searchParams.delete("schema")
  // Every value stays text as the server writes it. Large integers lose no digits, and dates are not converted to the
  // local time zone.
  const client = new Client({
    connectionString: location.href,
    // By default this driver waits without limit, unlike that of MySQL.
    connectionTimeoutMillis: 10_000,
    types: { getTypeParser: () => String },
  })
  // Prevents a crash by an unhandled error event. The next query reports the error.
  client.on("error", () => {})
  await client.connect()
  const rows = async (text: string, values: unknown[] = []) =>
    (await client.query<(string | null)[]>({ text, values, rowMode: "array" })).rows
  await rows(
    `SELECT set_config('search_path', $1, false), set_config('datestyle', 'ISO', false),
       set_config('bytea_output', 'hex', false)`,
    [dialect.quote(schema)],
  )

  return {
    tables: async () =>
      (await rows("SELECT tablename FROM pg_tables WHERE schemaname = $1", [schema])).map(([name]) => String(name)),

    async describe(name) {
      const columns = await rows(
        `SELECT a.attname, format_type(a.atttypid, a.atttypmod), l.collisdeterministic
           FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
           WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
        [dialect.quote(name)],
      )
      const indexes = await rows(
        `SELECT i.indexrelid, a.attname, i.indisprimary, NOT a.attnotnull
           FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (attnum, position)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
           WHERE i.indrelid = $1::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
           ORDER BY i.indexrelid, k.position`,
        [dialect.quote(name)],
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

    count: async (name) => Number((await rows(`SELECT count(*) FROM ${dialect.quote(name)}`))[0]?.[0]),

    async page(table, range, limit) {
      const { sql, parameters } = pageStatement(dialect, table, range, limit)
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
