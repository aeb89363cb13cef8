import { Client, types } from "pg"

/** An empty database of PostgreSQL; see TestDatabase. */
export interface PostgresDatabase {
  readonly url: string
  query(sql: string, params?: unknown[]): Promise<Record<string, unknown>[]>
  drop(): Promise<void>
}

/** Creates a database on the server at `serverUrl`. Its default collation is not byte order. */
export async function postgresDatabase(serverUrl: string, name: string): Promise<PostgresDatabase> {
  const administer = async (sql: string) => {
    const client = await connect(serverUrl)
    await client.query(sql).finally(() => client.end())
  }
  await administer(
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'und'`,
  )
  const location = Object.assign(new URL(serverUrl), { pathname: `/${name}` })
  location.port ||= "5432"
  const url = location.href
  let connection: Promise<Client> | undefined
  const connected = () => {
    connection ??= connect(url).then((opened) => {
      // After the server was killed, the next statement connects again.
      opened.on("error", () => {
        connection = undefined
      })
      return opened
    })
    return connection
  }
  return {
    url,
    async query(sql, params = []) {
      const client = await connected()
      return (await client.query(params.length === 0 ? sql : numbered(sql), params)).rows
    },
    async drop() {
      await connection?.then((opened) => opened.end())
      await administer(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** Converts a statement with `?` for each parameter to the syntax of PostgreSQL. */
export function numbered(sql: string): string {
  let count = 0
  return sql.replace(/\?/g, () => `$${++count}`)
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, ssl: false })
  // By default the driver returns integers of 64 bits, such as those of COUNT, as text.
  client.setTypeParser(types.builtins.INT8, Number)
  await client.connect()
  await client.query("SET timezone = 'UTC'")
  return client
}
