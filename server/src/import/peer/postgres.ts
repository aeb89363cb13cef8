import { Client } from "pg"
import { parse as parseArray } from "postgres-array"
import { clientConfig, type PostgresLocation } from "../../store/sql/index.js"
import { type Dialect, pageStatement, pagingKey, repeatedStatement, type Source } from "./source.js"
import { decoded, isBroken } from "./values.js"

const dialect: Dialect = { quote: (name) => `"${name.replaceAll('"', '""')}"`, parameter: (number) => `$${number}` }

/** The form of values, no end of the transaction, and an error where row-level security would hide rows. */
const settings = [
  "datestyle = 'ISO'",
  "bytea_output = 'hex'",
  "idle_in_transaction_session_timeout = 0",
  "row_security = off",
]

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
  // The driver takes one statement at a time, and a page is verified while the next one is read.
  let previous: Promise<unknown> = Promise.resolve()
  const rows = async (text: string, values: unknown[] = []) => {
    const next = previous
      .catch(() => {})
      .then(() => client.query<(string | null)[]>({ text, values, rowMode: "array" }))
    previous = next
    return (await next).rows
  }
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  for (const setting of settings) await client.query(`SET LOCAL ${setting}`)
  const schema = location.schema ?? String((await rows("SELECT current_schema()"))[0]?.[0] ?? "public")
  // In this encoding the server has not checked its text, and would reject what is not UTF-8. So it sends bytes.
  const isUnchecked = (await rows("SHOW server_encoding"))[0]?.[0] === "SQL_ASCII"
  const selected = (column: string) => {
    const cell = dialect.quote(column)
    return isUnchecked ? `CASE WHEN ${cell} IS NOT NULL THEN convert_to(concat(${cell}), 'SQL_ASCII') END` : cell
  }
  const qualified = (name: string) => `${dialect.quote(schema)}.${dialect.quote(name)}`

  return {
    tables: async () =>
      (
        await rows(
          `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f', 'v', 'm')`,
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
          parse: cellReader(String(type), isUnchecked),
        })),
      }
    },

    count: async (name) => Number((await rows(`SELECT count(*) FROM ${qualified(name)}`))[0]?.[0]),

    isUnique: async (name, columns) =>
      (await rows(repeatedStatement(qualified(name), columns.map(dialect.quote)))).length === 0,

    async page(table, after, limit) {
      const select = [...table.columns.map(({ name }) => selected(name)), ...table.key.map(dialect.quote)]
      const read = (expressions: string[]) => {
        const page = { select: expressions, from: qualified(table.name), after, limit }
        const { sql, parameters } = pageStatement(dialect, table, page)
        return rows(sql, parameters)
      }
      // `concat` writes a value as the server sends it.
      const written = table.columns.map(({ name }) => {
        const text = `concat(${selected(name)})`
        const whole = `concat(octet_length(convert_to(${text}, 'UTF8')), ':', ${text})`
        return `CASE WHEN ${dialect.quote(name)} IS NULL THEN '-' ELSE ${whole} END`
      })
      const digest = `encode(sha256(convert_to(${written.join(" || ")}, 'UTF8')), 'hex')`
      return { rows: await read(select), digests: async () => (await read([digest])).flat() }
    },

    close: () => client.end(),
  }
}

/** Returns a function that converts the text of a value: from bytes in hexadecimal, to bytes, or to a list. */
function cellReader(type: string, isUnchecked: boolean): ((cell: unknown) => unknown) | undefined {
  const typed = typedReader(type)
  if (!isUnchecked) return typed && ((cell) => typed(String(cell)))
  return (cell) => {
    const text = decoded(bytesOf(String(cell)))
    return isBroken(text) ? text : (typed?.(text) ?? text)
  }
}

function typedReader(type: string): ((text: string) => unknown) | undefined {
  if (type === "bytea") return bytesOf
  if (!type.endsWith("[]")) return undefined
  const element = typedReader(type.slice(0, -"[]".length)) ?? String
  return (text) => parseArray(text, element)
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.slice("\\x".length), "hex")
}

function lengthOf(type: string): number | undefined {
  const length = /^character(?: varying)?\((\d+)\)$/.exec(type)?.[1]
  return length === undefined ? undefined : Number(length)
}
