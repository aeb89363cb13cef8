import { createHash } from "node:crypto"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { createDatabase, type DatabaseTarget, type Row, type TestDatabase } from "../databases/databases.js"
import { type ServerProcess, startServer } from "./server.js"

/** A server process on an empty database, and a client connected to it over a real socket. */
export interface Authwire {
  readonly database: TestDatabase
  readonly server: ServerProcess
  readonly client: AuthwireClient
  readonly adapter: AuthwireClient["adapter"]
  /** Returns rows as plain values, independent of the engine: key columns as strings, booleans as 0 and 1. */
  rows(sql: string, params?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

/** Starts both. See startServer for the arguments. */
export async function startAuthwire(
  target: DatabaseTarget,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<Authwire> {
  const database = await createDatabase(target)
  const server = await startServer({ databaseUrl: database.url, args, env })
  const client = createAuthwireClient({ url: server.grpcUrl })
  return {
    database,
    server,
    client,
    adapter: client.adapter,
    async rows(sql, params) {
      const rows = await database.query(sql, params)
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(name, value)])),
      )
    },
    async close() {
      client.close()
      await server.stop()
      await database.drop()
    },
  }
}

/** Returns the hash under which a session token or a verification token is stored, in hexadecimal. */
export function tokenHash(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}

function plain(name: string, value: unknown): unknown {
  if (Buffer.isBuffer(value)) return name === "token_hash" ? value.toString("hex") : value.toString()
  return value
}
