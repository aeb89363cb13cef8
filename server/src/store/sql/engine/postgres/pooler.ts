import { Socket } from "node:net"
import { Client } from "pg"
import { StatementError } from "../../query/statement-error.js"
import { sockets as trackedSockets } from "../sockets.js"
import type { PostgresLocation } from "../url/postgres-url.js"
import { clientConfig } from "./client-config.js"

/** The code of the error. */
export const transactionPooler = "TRANSACTION_POOLER"

/**
 * Throws a StatementError if the server is a pooler in transaction mode, such as PgBouncer or port 6543 of Supabase. The
 * engine has settings, prepared statements and locks that belong to a connection, and would leave them to others.
 *
 * A pooler gives the client another process id than that of the database's process. In transaction mode a second client
 * then gets the process that the first one has just used.
 */
export async function rejectTransactionPooler(location: PostgresLocation, timeoutMs: number): Promise<void> {
  const clients: Client[] = []
  const sockets = trackedSockets()
  const open = async () => {
    const client = new Client({
      ...clientConfig(location),
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      stream: () => sockets.add(new Socket()),
    })
    client.on("error", () => {})
    clients.push(client)
    await client.connect()
    return client
  }
  const processOf = async (client: Client): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")
    return Number(rows[0]?.pid)
  }
  try {
    const first = await open()
    const before = await processOf(first)
    if (before === (first as Client & { processID: number | null }).processID) return
    const second = await open()
    await second.query("BEGIN")
    const isShared = (await processOf(second)) === before || (await processOf(first)) !== before
    if (!isShared) return
    throw new StatementError("unavailable", "a pooler gives each transaction another connection", transactionPooler)
  } catch (error) {
    // The engine connects next, and reports whatever prevents it.
    if (error instanceof StatementError) throw error
  } finally {
    // A client waits for the server to close the connection, which a server that hangs never does.
    await sockets.within(timeoutMs, Promise.allSettled(clients.map((client) => client.end())))
  }
}
