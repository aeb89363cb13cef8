import { setTimeout as delay } from "node:timers/promises"
import { createConnection, type RowDataPacket } from "mysql2/promise"
import { authwireSchema } from "./authwire-schema.ts"
import { sessionsPerUser } from "./keys.ts"
import type { MysqlServer } from "./mysql-server.ts"
import { plainSchema } from "./plain-schema.ts"
import { prismaSchema } from "./prisma-schema.ts"
import type { Schema } from "./schema.ts"
import { typeormSchema } from "./typeorm-schema.ts"

export const schemas = { authwire: authwireSchema, plain: plainSchema, typeorm: typeormSchema, prisma: prismaSchema }

export type SchemaName = keyof typeof schemas

/** A database with a contender's tables, full. */
export interface LoadedDatabase {
  readonly url: string
  readonly users: number
  /** Makes the verification tokens of a batch. */
  addVerificationTokens(batch: string, count: number): Promise<void>
  /** Removes what measurements left. */
  cleanUp(): Promise<void>
}

/** To be raised with every change of the data or the tables: older databases are made anew. */
const version = 2

/** Beside the data: numbers to make it of, and what was loaded. */
const home = "bench_data"

/**
 * Makes and fills a database, `bench_SCHEMA_USERS`, unless an earlier run left it. It stays for the next run: `dropAll`
 * removes them.
 */
export async function loadDatabase(
  server: MysqlServer,
  schemaName: SchemaName,
  users: number,
  say: (text: string) => void,
): Promise<LoadedDatabase> {
  const schema: Schema = schemas[schemaName]
  const name = `bench_${schemaName}_${users}`
  const { pool } = server
  await pool.query(`CREATE DATABASE IF NOT EXISTS ${home};
    CREATE TABLE IF NOT EXISTS ${home}.numbers (n INT NOT NULL PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS ${home}.loaded (name VARCHAR(64) NOT NULL PRIMARY KEY, version INT NOT NULL)`)
  const url = server.url(name)

  async function run(statements: readonly string[], { checks }: { checks: boolean }) {
    const connection = await createConnection({ uri: url, timezone: "Z" })
    try {
      if (!checks) await connection.query("SET SESSION foreign_key_checks = 0, unique_checks = 0")
      // A gigabyte of log that nobody replays. It may be forbidden.
      await connection.query("SET SESSION sql_log_bin = 0").catch(() => {})
      for (const statement of statements) await connection.query(statement)
    } finally {
      await connection.end()
    }
  }

  const database: LoadedDatabase = {
    url,
    users,
    addVerificationTokens: (batch, count) =>
      run([schema.verificationTokens(batch, `FROM ${home}.numbers WHERE n < ${count}`)], { checks: false }),
    // With foreign keys: some tables cascade.
    cleanUp: () => run(schema.cleanUp, { checks: true }),
  }

  const [loaded] = await pool.query<RowDataPacket[]>(
    `SELECT name FROM ${home}.loaded JOIN information_schema.schemata ON schema_name = name
     WHERE name = ? AND version = ?`,
    [name, version],
  )
  if (loaded.length > 0) {
    await database.cleanUp()
    await readAll(server, name)
    return database
  }

  const start = performance.now()
  await pool.query(
    `DELETE FROM ${home}.loaded WHERE name = ?; DROP DATABASE IF EXISTS ${name}; CREATE DATABASE ${name}`,
    [name],
  )
  await schema.create(url)
  await fillNumbers(server, users * sessionsPerUser)
  const fill = schema.fill({
    users: `FROM ${home}.numbers WHERE n < ${users}`,
    sessions: `FROM ${home}.numbers WHERE n < ${users * sessionsPerUser}`,
  })
  await run(fill, { checks: false })
  const [tables] = await pool.query<RowDataPacket[]>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?",
    [name],
  )
  // The statistics that the plans of statements are made of.
  for (const table of tables) await pool.query(`ANALYZE TABLE ${name}.${table.name}`)
  await pool.query(`INSERT INTO ${home}.loaded VALUES (?, ?)`, [name, version])
  await written(server)
  say(`loaded ${name} in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  return database
}

/**
 * Reads all indexes of a database, so that it is in memory as if it had just been loaded: since an earlier run the server
 * has had less memory, and the larger a database is, the more of it would be read from the disk during a measurement.
 */
async function readAll({ pool }: MysqlServer, database: string): Promise<void> {
  const [indexes] = await pool.query<RowDataPacket[]>(
    "SELECT DISTINCT table_name AS name, index_name AS idx FROM information_schema.statistics WHERE table_schema = ?",
    [database],
  )
  for (const { name, idx } of indexes)
    await pool.query("SELECT COUNT(*) FROM ??.?? FORCE INDEX (??)", [database, name, idx])
}

/** Waits until the server has written what was loaded to its disk, so that it does not do so during a measurement. */
async function written({ pool }: MysqlServer): Promise<void> {
  for (let tries = 0; tries < 120; tries++) {
    const [rows] = await pool.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
    if (Number(rows[0]?.Value) < 100) return
    await delay(500)
  }
}

/** Removes all databases of this program. */
export async function dropAll(server: MysqlServer): Promise<void> {
  const [rows] = await server.pool.query<RowDataPacket[]>(
    "SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name LIKE 'bench\\_%'",
  )
  for (const { name } of rows) await server.pool.query(`DROP DATABASE ${name}`)
}

async function fillNumbers({ pool }: MysqlServer, count: number): Promise<void> {
  await pool.query(`INSERT IGNORE INTO ${home}.numbers VALUES (0)`)
  for (;;) {
    const [rows] = await pool.query<RowDataPacket[]>(`SELECT MAX(n) + 1 AS count FROM ${home}.numbers`)
    const filled = Number(rows[0]?.count)
    if (filled >= count) return
    await pool.query(`INSERT INTO ${home}.numbers SELECT n + ? FROM ${home}.numbers`, [filled])
  }
}
