import { randomBytes } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { createConnection, type RowDataPacket } from "mysql2/promise"
import { sessionsPerUser } from "./keys.ts"
import type { MysqlServer } from "./mysql-server.ts"
import { type SchemaName, schemas } from "./schemas.ts"

/** A database with the filled tables of a contender. */
export interface LoadedDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** Creates and fills a database. */
export async function loadDatabase(
  server: MysqlServer,
  schema: SchemaName,
  users: number,
  say: (text: string) => void,
): Promise<LoadedDatabase> {
  const name = `authwire_bench_${schema}_${randomBytes(4).toString("hex")}`
  const { pool } = server
  const start = performance.now()
  await pool.query(`CREATE DATABASE ${name}`)
  const url = server.url(name)
  const { create, fill } = schemas[schema]
  await create(url)

  const connection = await createConnection({ uri: url, timezone: "Z" })
  await connection.query("SET SESSION foreign_key_checks = 0, unique_checks = 0")
  // Avoids a gigabyte of binary log that is never replayed. The statement may be forbidden.
  await connection.query("SET SESSION sql_log_bin = 0").catch(() => {})
  const rows = users * sessionsPerUser
  await connection.query("CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY)")
  await connection.query("INSERT INTO numbers VALUES (0)")
  for (let n = 1; n < rows; n *= 2) await connection.query(`INSERT INTO numbers SELECT n + ${n} FROM numbers`)
  for (const statement of fill(`FROM numbers WHERE n < ${users}`, `FROM numbers WHERE n < ${rows}`))
    await connection.query(statement)
  await connection.query("DROP TABLE numbers")
  const [tables] = await connection.query<RowDataPacket[]>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?",
    [name],
  )
  // Updates the statistics that the query planner uses.
  for (const table of tables) await connection.query("ANALYZE TABLE ??", [table.name])
  await connection.end()
  await written(server)
  say(`loaded ${users} users, ${schema}, in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  return {
    url,
    async drop() {
      await pool.query(`DROP DATABASE ${name}`)
    },
  }
}

/** Waits until the server has written the loaded data to disk, so that it does not do so during a measurement. */
async function written({ pool }: MysqlServer): Promise<void> {
  for (let tries = 0; tries < 40; tries++) {
    const [rows] = await pool.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
    if (Number(rows[0]?.Value) < 100) return
    await delay(500)
  }
}
