import type { Connection, RowDataPacket } from "mysql2/promise"
import { StatementError } from "../../query/statement-error.js"

/** Throws a StatementError if the database is a sharded keyspace of Vitess: each shard would number the events by itself. */
export async function rejectShardedKeyspace(connection: Connection, database: string): Promise<void> {
  const [keyspaces] = await connection.query<RowDataPacket[]>("SHOW VSCHEMA KEYSPACES")
  // The name of a keyspace may be followed by a shard or a kind of tablet.
  const [name] = database.split(/[:@]/)
  if (!keyspaces.some((one) => one.Keyspace === name && one.Sharded === "true")) return
  throw new StatementError("unavailable", `the keyspace ${name} is sharded`, "SHARDED_KEYSPACE")
}
