import type { QueryRunner } from "typeorm"
import { postgresTypes, serverTypes, sqliteTypes } from "../schema/column-types.js"
import type { DatabaseFacts, Dialect } from "../schema/dialect.js"
import type { Engine } from "./engine.js"
import { mariadbStretch, mysqlStretch, postgresStretch, sqliteStretch } from "./stretches.js"

const sqlite: Dialect = {
  types: sqliteTypes,
  now: "strftime('%Y-%m-%d %H:%M:%f', 'now')",
  today: "strftime('%Y-%m-%d %H:%M:%f', 'now', 'start of day')",
  // A transaction locks the whole database when it begins.
  locking: (select) => select,
  within: sqliteStretch,
  sortsNulls: false,
  lockOfParent: "",
  byPrimaryKey: "",
  parameter: () => "?",
  // Several columns are compared with a table only.
  rowsIn: (rows) => `VALUES ${rows.join(", ")}`,
  findsRowsIn: false,
  checksText: false,
  migrations: "none",
  async facts(runner) {
    const [row] = await runner.query(
      "SELECT sqlite_version() AS version, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS clock, journal_mode FROM pragma_journal_mode",
    )
    const settings = { journal_mode: String(row.journal_mode) }
    return { version: `SQLite ${row.version}`, clock: Date.parse(row.clock), settings }
  },
}

const server: Pick<Dialect, "locking" | "rowsIn" | "findsRowsIn" | "checksText"> = {
  locking(select, ifLocked) {
    select.setLock("pessimistic_write")
    return ifLocked === "wait" ? select : select.setOnLocked(ifLocked === "fail" ? "nowait" : "skip_locked")
  },
  rowsIn: (rows) => rows.join(", "),
  findsRowsIn: true,
  checksText: true,
}

const innodb: Omit<Dialect, "facts" | "within" | "sortsNulls"> = {
  ...server,
  types: serverTypes,
  now: "UTC_TIMESTAMP(3)",
  today: "UTC_DATE()",
  lockOfParent: "",
  // A server that assumes a small table would scan all of it, and wait for rows of uncommitted transactions.
  byPrimaryKey: " FORCE INDEX (PRIMARY)",
  parameter: () => "?",
  migrations: "none",
}

async function factsOfServer(runner: QueryRunner): Promise<DatabaseFacts> {
  const names = ["innodb_flush_log_at_trx_commit", "max_allowed_packet", "max_connections", "read_only", "sync_binlog"]
  const [row] = await runner.query("SELECT VERSION() AS version, ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS clock")
  const settings: { Variable_name: string; Value: string }[] = await runner.query(
    `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${names.map((name) => `'${name}'`).join(", ")})`,
  )
  return {
    version: String(row.version),
    clock: Number(row.clock),
    settings: Object.fromEntries(settings.map(({ Variable_name, Value }) => [Variable_name, Value])),
  }
}

const mysql: Dialect = {
  ...innodb,
  within: mysqlStretch,
  sortsNulls: false,
  facts: async (runner) => ({ ...(await factsOfServer(runner)), oldest: [8, 4] }),
}

const mariadb: Dialect = {
  ...innodb,
  within: mariadbStretch,
  sortsNulls: true,
  facts: async (runner) => ({ ...(await factsOfServer(runner)), oldest: [10, 11] }),
}

const postgres: Dialect = {
  ...server,
  types: postgresTypes,
  now: "date_trunc('milliseconds', clock_timestamp())",
  today: "date_trunc('day', clock_timestamp(), 'UTC')",
  within: postgresStretch,
  sortsNulls: false,
  // The foreign key takes the same lock, but only after the row was read, which may have changed meanwhile.
  lockOfParent: " FOR KEY SHARE",
  byPrimaryKey: "",
  parameter: (place) => `$${place}`,
  migrations: "each",
  async facts(runner) {
    const names = ["fsync", "max_connections", "server_encoding", "synchronous_commit", "transaction_read_only"]
    const [row] = await runner.query(
      "SELECT current_setting('server_version') AS version, extract(epoch FROM clock_timestamp()) * 1000 AS clock",
    )
    const settings: { name: string; setting: string }[] = await runner.query(
      "SELECT name, setting FROM pg_settings WHERE name = ANY($1) ORDER BY name",
      [names],
    )
    return {
      version: String(row.version),
      oldest: [15, 0],
      clock: Math.round(Number(row.clock)),
      settings: Object.fromEntries(settings.map(({ name, setting }) => [name, setting])),
    }
  },
}

export const dialects: Readonly<Record<Engine, Dialect>> = { sqlite, mysql, mariadb, postgres }
