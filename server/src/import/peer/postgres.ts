import { createRequire } from "node:module"
import { join } from "node:path"
import { StartError } from "../../bootstrap/start-error.js"
import { type Dialect, pageStatement, pagingKey, type Source } from "./source.js"

/** As much of `pg` as is used here: it is installed by those who move from PostgreSQL, and by nobody else. */
interface Pg {
  Client: new (options: { connectionString: string; types: { getTypeParser(): (text: string) => string } }) => PgClient
}

interface PgClient {
  connect(): Promise<void>
  on(event: "error", listener: () => void): void
  query(query: { text: string; values: unknown[]; rowMode: "array" }): Promise<{ rows: (string | null)[][] }>
  end(): Promise<void>
}

const dialect: Dialect = { quote: (name) => `"${name.replaceAll('"', '""')}"`, parameter: (number) => `$${number}` }

/** Opens a database of PostgreSQL; the parameter `schema` of its URL names the schema, as Prisma has it. */
export async function postgresSource(url: string): Promise<Source> {
  const { Client } = loadDriver()
  const location = new URL(url)
  const schema = location.searchParams.get("schema") ?? "public"
  location.searchParams.delete("schema")
  // Every value as the server writes it: whole numbers lose nothing, and dates get no time zone of this machine.
  const client = new Client({ connectionString: location.href, types: { getTypeParser: () => (text) => text } })
  // Told when nobody asks; whoever asks next is told too.
  client.on("error", () => {})
  await client.connect()
  const rows = async (text: string, values: unknown[] = []) =>
    (await client.query({ text, values, rowMode: "array" })).rows
  await rows("SELECT set_config('search_path', $1, false), set_config('datestyle', 'ISO', false)", [
    dialect.quote(schema),
  ])

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
        indexes.map(([index, column, isPrimary, isNullable]) => ({
          index: String(index),
          column: String(column),
          isPrimary: isPrimary === "t",
          isNullable: isNullable === "t",
        })),
      )
      if (key === undefined) throw new StartError(`the table ${name} has no unique key to read it by: add one`)
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

    page(table, after, limit) {
      const { sql, parameters } = pageStatement(dialect, table, after, limit)
      return rows(sql, parameters)
    },

    close: () => client.end(),
  }
}

function lengthOf(type: string): number | undefined {
  const length = /^character(?: varying)?\((\d+)\)$/.exec(type)?.[1]
  return length === undefined ? undefined : Number(length)
}

/** The driver that the application has in whose folder the command runs, or one that was installed beside this package. */
function loadDriver(): Pg {
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    try {
      return createRequire(from)("pg") as Pg
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND")) throw error
    }
  }
  throw new StartError("--url: PostgreSQL is read by the package pg, which is not here: npm install pg")
}
