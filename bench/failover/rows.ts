import { createConnection, type RowDataPacket } from "mysql2/promise"
import { Client } from "pg"

/** A connection for queries to either kind of database. */
export interface Rows {
  /** Returns each row as a list of cells, as the driver returns them. */
  read(sql: string): Promise<unknown[][]>
  close(): void
}

/** Connects to a database. `url` is `mysql://…` or `postgres://…` with one host. */
export async function connectTo(url: string): Promise<Rows> {
  if (url.startsWith("postgres:")) {
    const client = new Client({ connectionString: url })
    client.on("error", () => {})
    await client.connect()
    return {
      read: async (text) => (await client.query({ text, rowMode: "array" })).rows,
      close: () => void client.end().catch(() => {}),
    }
  }
  const connection = await createConnection(url)
  connection.on("error", () => {})
  return {
    read: async (sql) => (await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true }))[0],
    close: () => connection.destroy(),
  }
}
