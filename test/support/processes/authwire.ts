import { createHash } from "node:crypto"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { afterAll, beforeAll } from "@jest/globals"
import { createDatabase, type DatabaseTarget, type Row, type TestDatabase } from "../databases/databases.js"
import type { Later } from "../endings.js"
import { type ServerProcess, type StaticKey, startServer } from "./server.js"

/** A server process on an empty database, and a client connected to it over a real socket. */
export interface Authwire {
  readonly database: TestDatabase
  readonly server: ServerProcess
  /** It has the first of the keys. */
  readonly client: AuthwireClient
  readonly adapter: AuthwireClient["adapter"]
  /** Registers an end that comes before that of the service. */
  later: Later
  /** Returns a client that has the key. It is closed before the service. */
  clientOf(key: Pick<StaticKey, "text">): AuthwireClient
  /** Starts another process on the database, with the same options and these arguments. It is stopped with the first. */
  another(...args: string[]): Promise<ServerProcess>
  /** Returns rows as plain values, independent of the engine: key columns as strings, booleans as 0 and 1. */
  rows(sql: string, params?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

type Options = Omit<Parameters<typeof startServer>[0], "databaseUrl">

/**
 * Starts both before the tests of the file or of the block, and closes them after these tests. Its properties are there
 * when the tests run, so that they cannot be taken out of it before.
 */
export function useAuthwire(target: DatabaseTarget, options: Options = {}): Authwire {
  const authwire = {} as Authwire
  beforeAll(async () => void Object.assign(authwire, await startAuthwire(target, options)))
  afterAll(() => authwire.close?.())
  return authwire
}

/** Starts both. See startServer for the options. */
export async function startAuthwire(target: DatabaseTarget, options: Options = {}): Promise<Authwire> {
  const stack = new AsyncDisposableStack()
  const later: Later = (end) => stack.defer(async () => void (await end()))
  const database = await createDatabase(target)
  later(database.drop)
  const another = async (...more: string[]) => {
    const args = [...(options.args ?? []), ...more]
    const server = await startServer({ databaseUrl: database.url, ...options, args })
    later(server.stop)
    return server
  }
  const server = await another()
  const clientOf = ({ text }: { text: string | undefined }) => {
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: text })
    later(async () => client.close())
    return client
  }
  const client = clientOf({ text: server.apiKey })
  return {
    database,
    server,
    client,
    adapter: client.adapter,
    clientOf,
    another,
    later,
    async rows(sql, params) {
      const rows = await database.query(sql, params)
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(name, value)])),
      )
    },
    close: () => stack.disposeAsync(),
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
