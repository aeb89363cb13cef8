import type { Database } from "./database.js"

/** Version, clock and settings of a database. */
export interface DatabaseFacts {
  /** Such as `9.7.0`, `11.8.2-MariaDB`, `15.14`, `3.45.1`. */
  version: string
  /** The database's clock, in milliseconds since 1970-01-01T00:00:00Z. */
  clock: number
  /** The relevant settings, as the database writes them. For SQLite only `journal_mode`. */
  settings: Readonly<Record<string, string>>
}

const serverSettings = [
  "innodb_flush_log_at_trx_commit",
  "max_allowed_packet",
  "max_connections",
  "read_only",
  "sync_binlog",
]

const postgresSettings = ["fsync", "max_connections", "server_encoding", "synchronous_commit", "transaction_read_only"]

/** Reads the facts of a database. Changes nothing in it. */
export function databaseFacts(database: Database): Promise<DatabaseFacts> {
  return database.withQueryRunner(async (runner) => {
    if (database.engine === "sqlite") {
      const [row] = await runner.query(
        "SELECT sqlite_version() AS version, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS clock, journal_mode FROM pragma_journal_mode",
      )
      return {
        version: String(row.version),
        clock: Date.parse(row.clock),
        settings: { journal_mode: String(row.journal_mode) },
      }
    }
    if (database.engine === "postgres") {
      const [row] = await runner.query(
        "SELECT current_setting('server_version') AS version, extract(epoch FROM clock_timestamp()) * 1000 AS clock",
      )
      const settings: { name: string; setting: string }[] = await runner.query(
        "SELECT name, setting FROM pg_settings WHERE name = ANY($1) ORDER BY name",
        [postgresSettings],
      )
      return {
        version: String(row.version),
        clock: Math.round(Number(row.clock)),
        settings: Object.fromEntries(settings.map(({ name, setting }) => [name, setting])),
      }
    }
    const [row] = await runner.query("SELECT VERSION() AS version, ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS clock")
    const settings: { Variable_name: string; Value: string }[] = await runner.query(
      `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${serverSettings.map((name) => `'${name}'`).join(", ")})`,
    )
    return {
      version: String(row.version),
      clock: Number(row.clock),
      settings: Object.fromEntries(settings.map(({ Variable_name, Value }) => [Variable_name, Value])),
    }
  })
}
