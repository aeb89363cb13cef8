import { statfsSync } from "node:fs"
import { dirname } from "node:path"
import type { QueryRunner } from "typeorm"
import { postgresTypes, serverTypes, sqliteTypes } from "../schema/column-types.js"
import type { ConnectionLimit, DatabaseFacts, Dialect } from "../schema/dialect.js"
import * as created from "../schema/migrations/table-sql.js"
import type { Engine } from "./engine.js"
import { isVitess } from "./mysql/member-state.js"
import { fileOf, rightsByFunctions, rightsByPlans, rightsOfFile } from "./rights.js"
import { mariadbStretch, mysqlStretch, postgresStretch, sqliteStretch } from "./stretches.js"

/** Returns the names of the triggers that these statements create. */
const triggersIn = (statements: readonly string[]): string[] =>
  statements.flatMap((statement) => /^CREATE TRIGGER (\w+)/.exec(statement)?.[1] ?? [])

const sqlite: Dialect = {
  types: sqliteTypes,
  now: "strftime('%Y-%m-%d %H:%M:%f', 'now')",
  today: "strftime('%Y-%m-%d %H:%M:%f', 'now', 'start of day')",
  // A transaction locks the whole database when it begins.
  locking: (select) => select,
  within: sqliteStretch,
  sortsNulls: false,
  lockOfParent: "",
  byPrimaryKey: " NOT INDEXED",
  parameter: () => "?",
  // Several columns are compared with a table only.
  rowsIn: (rows) => `VALUES ${rows.join(", ")}`,
  findsRowsIn: false,
  checksText: false,
  migrations: "none",
  currentSchema: undefined,
  triggers: {
    names: triggersIn(created.sqliteTypes.further),
    query: "SELECT name FROM sqlite_master WHERE type = 'trigger'",
  },
  missingRights: rightsOfFile,
  async facts(runner) {
    const [row] = await runner.query(
      "SELECT sqlite_version() AS version, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS clock, journal_mode FROM pragma_journal_mode",
    )
    const settings = { journal_mode: String(row.journal_mode) }
    const file = fileOf(runner.dataSource)
    const space = file === undefined ? undefined : statfsSync(dirname(file))
    const freeBytes = space && space.bavail * space.bsize
    return { version: `SQLite ${row.version}`, clock: Date.parse(row.clock), settings, limits: [], freeBytes }
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
  currentSchema: "DATABASE()",
  triggers: { names: [], query: "" },
  missingRights: rightsByPlans,
}

/** Returns those of the limits that there are. */
function limitsOf(found: Partial<Record<ConnectionLimit["of"], number>>): ConnectionLimit[] {
  const all = Object.entries(found).map(([of, most]) => ({ of: of as ConnectionLimit["of"], most }))
  return all.filter(({ most }) => most >= 0)
}

async function factsOfServer(runner: QueryRunner): Promise<DatabaseFacts> {
  const names = [
    "binlog_format",
    "innodb_flush_log_at_trx_commit",
    "log_bin",
    "max_allowed_packet",
    "read_only",
    "sync_binlog",
    "version",
  ]
  // The setting of the session is the limit of the user, if it has one.
  const [row] = await runner.query(
    `SELECT VERSION() AS version, ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS clock,
       @@GLOBAL.max_connections AS ofServer, @@SESSION.max_user_connections AS ofUser`,
  )
  const settings: { Variable_name: string; Value: string }[] = await runner.query(
    `SHOW GLOBAL VARIABLES WHERE Variable_name IN (${names.map((name) => `'${name}'`).join(", ")})`,
  )
  const { log_bin, binlog_format, version, ...others } = Object.fromEntries(
    settings.map(({ Variable_name, Value }) => [Variable_name, Value]),
  )
  return {
    version: String(row.version),
    clock: Number(row.clock),
    settings: { ...others, ...(log_bin === "ON" && binlog_format !== undefined && { binlog_format }) },
    // Those of vtgate are its own.
    limits: isVitess(version) ? [] : limitsOf({ server: Number(row.ofServer), user: Number(row.ofUser) || -1 }),
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
  currentSchema: "current_schema()",
  triggers: {
    names: triggersIn(created.postgresTypes.further),
    query: "SELECT tgname AS name FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'",
  },
  missingRights: rightsByFunctions,
  async facts(runner) {
    const names = ["fsync", "server_encoding", "synchronous_commit", "transaction_read_only"]
    // A superuser has no limit but that of the server.
    const [row] = await runner.query(
      `SELECT current_setting('server_version') AS version, extract(epoch FROM clock_timestamp()) * 1000 AS clock,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS server,
         CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END AS "user",
         CASE WHEN rolsuper THEN -1 ELSE datconnlimit END AS database
       FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
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
      limits: limitsOf({ server: row.server, user: row.user, database: row.database }),
    }
  },
}

export const dialects: Readonly<Record<Engine, Dialect>> = { sqlite, mysql, mariadb, postgres }
