import type { Connection, RowDataPacket } from "mysql2/promise"
import type { DataSource } from "typeorm"

/** Whether the name is that of one shard of Vitess, such as `authwire:-80`. */
export function isShard(database: string): boolean {
  return database.includes(":")
}

/** Whether the database is a sharded keyspace of Vitess as a whole. */
export async function isShardedKeyspace(connection: Connection, database: string): Promise<boolean> {
  // In a shard the statement would go to its server.
  if (isShard(database)) return false
  const [keyspaces] = await connection.query<RowDataPacket[]>("SHOW VSCHEMA KEYSPACES")
  const name = database.replace(/@.*/, "")
  return keyspaces.some((one) => one.Keyspace === name && one.Sharded === "true")
}

/** Gives TypeORM the name of a shard's database in its server, by which it looks for tables. Vitess gives another one for DATABASE() alone. */
export async function nameSchema(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query("SELECT DATABASE() AS name FROM information_schema.schemata LIMIT 1")
  dataSource.driver.database = String(row.name)
}
