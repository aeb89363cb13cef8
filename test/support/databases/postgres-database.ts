import { Client, types } from "pg"

/** An empty database of PostgreSQL; see TestDatabase. */
export interface PostgresDatabase {
  readonly url: string
  query(sql: string, params?: unknown[]): Promise<Record<string, unknown>[]>
  drop(): Promise<void>
}

/** Makes a database on the server at `serverUrl`, whose own order of text is not that of bytes. */
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
      // After the server was killed the next statement connects again.
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

/** A statement with `?` for each parameter, as PostgreSQL has it. */
export function numbered(sql: string): string {
  let count = 0
  return sql.replace(/\?/g, () => `$${++count}`)
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, ssl: false })
  // Whole numbers of 64 bits, as COUNT has them, are text to the driver.
  client.setTypeParser(types.builtins.INT8, Number)
  await client.connect()
  await client.query("SET timezone = 'UTC'")
  return client
}
