import { Client } from "pg"
import { parse as parseArray } from "postgres-array"
import { StartError } from "../../errors/start-error.js"
import { clientConfig, type PostgresLocation } from "../../store/sql/index.js"
import { replicaDoubt } from "../replica.js"
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

/** The kinds of relations that can be read like a table, and what those are that are none. */
const kinds: Readonly<Record<string, string | undefined>> = {
  r: undefined,
  p: undefined,
  f: "foreign table",
  v: "view",
  m: "materialized view",
}

/**
 * Opens a PostgreSQL database. The tables are those of the URL's `schema`, else of the first schema of its or the role's
 * `search_path`. That of the role may differ from the application's, so a table that other schemas have too is refused. Everything is read in one transaction, and nothing is set beyond it: behind a pooler the connection is
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
  const isChosen =
    location.schema !== undefined ||
    (await rows("SELECT source FROM pg_settings WHERE name = 'search_path'"))[0]?.[0] === "client"
  // In this encoding the server has not checked its text, and would reject what is not UTF-8. So it sends bytes.
  const isUnchecked = (await rows("SHOW server_encoding"))[0]?.[0] === "SQL_ASCII"
  const selected = (column: string) => {
    const cell = dialect.quote(column)
    return isUnchecked ? `CASE WHEN ${cell} IS NOT NULL THEN convert_to(concat(${cell}), 'SQL_ASCII') END` : cell
  }

  /** Throws StartError if the table may be another one: nobody has chosen the schema, and several have one of this name. */
  async function requireChosen(name: string) {
    if (isChosen) return
    const others = await rows(
      `SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relname = $1 AND n.nspname <> $2 AND c.relkind = ANY ($3)
           AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1`,
      [name, schema, Object.keys(kinds)],
    )
    if (others.length === 0) return
    throw new StartError(
      `--url: there is a table ${name} in the schema ${schema}, and also in ${others.join(", ")}: say which one the application ` +
        `uses, with the parameter schema of the URL, such as ?schema=${encodeURIComponent(schema)}`,
    )
  }
  const qualified = (name: string) => `${dialect.quote(schema)}.${dialect.quote(name)}`

  return {
    schema,
    replica: () => replicaDoubt("postgres", rows),

    tables: async () =>
      (
        await rows(
          `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relkind = ANY ($2)`,
          [schema, Object.keys(kinds)],
        )
      ).map(([name]) => String(name)),

    async describe(name) {
      await requireChosen(name)
      const [[kind] = []] = await rows("SELECT relkind FROM pg_class WHERE oid = $1::regclass", [qualified(name)])
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
        otherKind: kinds[String(kind)],
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
