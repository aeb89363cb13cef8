import type { QueryRunner } from "typeorm"
import { isThere, migration, type Part } from "./migration.js"
import { nameKey } from "./name-key.js"

const indexesOfSessions = {
  sessions_created: "tenant, created, id",
  sessions_ip: "tenant, ip, created, id",
  sessions_impersonator: "tenant, impersonator, created, id",
}
const entries = Object.entries(indexesOfSessions)

/** The steps for MySQL and MariaDB, each with a part that exists once it is done. */
const steps: readonly (readonly [up: string, down: string, makes: Part])[] = [
  [
    "ALTER TABLE users ADD COLUMN last_seen_day DATETIME(3) NULL," +
      ` ADD COLUMN name_key VARBINARY(512) GENERATED ALWAYS AS (${nameKey.server("name")}) STORED,` +
      " ADD INDEX users_name_key (tenant, name_key, id), ADD INDEX users_last_seen_day (tenant, last_seen_day, id)",
    "ALTER TABLE users DROP INDEX users_last_seen_day, DROP INDEX users_name_key, DROP COLUMN name_key," +
      " DROP COLUMN last_seen_day",
    { table: "users", index: "users_name_key" },
  ],
  [
    `ALTER TABLE sessions ${entries.map(([name, columns]) => `ADD INDEX ${name} (${columns})`).join(", ")}`,
    `ALTER TABLE sessions ${entries.map(([name]) => `DROP INDEX ${name}`).join(", ")}`,
    { table: "sessions", index: "sessions_ip" },
  ],
]

const createIndexes = [
  "CREATE INDEX users_last_seen_day ON users (tenant, last_seen_day, id)",
  ...entries.map(([name, columns]) => `CREATE INDEX ${name} ON sessions (${columns})`),
]
const dropIndexes = ["users_name_key", "users_last_seen_day", ...Object.keys(indexesOfSessions)].map(
  (name) => `DROP INDEX ${name}`,
)
const dropColumn = "ALTER TABLE users DROP COLUMN last_seen_day"

/**
 * Adds what finds users by the beginning of their name and by the day on which they last used a session, and sessions of
 * all users by creation, by address and by impersonation.
 *
 * SQLite and PostgreSQL index the expression of the name. MariaDB cannot, so MySQL and MariaDB have a column with it, which
 * they compute themselves. It is stored, because InnoDB has to recompute the entries of an index on a virtual column
 * whenever it cleans up old versions of a row. To add it, the servers copy the table; reads go on meanwhile, and writes to
 * `users` wait.
 */
export const findUsers = migration({
  name: "0008-find-users",
  previousVersion: {
    compatible: true,
    reason: "it uses none of the new columns and indexes; it does not record on which day users were last seen",
  },
  server: async (runner: QueryRunner) => {
    for (const [up, , makes] of steps) if (!(await isThere(runner, makes))) await runner.query(up)
  },
  sqlite: [
    "ALTER TABLE users ADD COLUMN last_seen_day datetime",
    `CREATE INDEX users_name_key ON users (tenant, ${nameKey.sqlite("name")}, id)`,
    ...createIndexes,
  ],
  postgres: [
    "ALTER TABLE users ADD COLUMN last_seen_day timestamptz(3)",
    `CREATE INDEX users_name_key ON users (tenant, (${nameKey.postgres("name")}), id)`,
    ...createIndexes,
  ],
  down: {
    server: async (runner: QueryRunner) => {
      for (const [, down, makes] of [...steps].reverse()) if (await isThere(runner, makes)) await runner.query(down)
    },
    sqlite: [...dropIndexes, dropColumn],
    postgres: [...dropIndexes, dropColumn],
  },
})
