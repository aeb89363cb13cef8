import type { QueryRunner } from "typeorm"
import { isThere, migration, type Part } from "../migration.js"
import { addNameKey } from "../name-key.js"

const indexesOfSessions = {
  sessions_created: "tenant, created, id, impersonator",
  sessions_ip: "tenant, ip, created, id",
}
const entries = Object.entries(indexesOfSessions)

/** The steps for MySQL and MariaDB, each with a part that exists once it is done. */
const steps: readonly (readonly [up: string, down: string, makes: Part])[] = [
  [
    "ALTER TABLE users ADD COLUMN last_seen_day DATETIME(3) NULL," +
      ` ${addNameKey.server}, ADD INDEX users_last_seen_day (tenant, last_seen_day, id),` +
      " ADD INDEX users_disabled (tenant, disabled, id)",
    "ALTER TABLE users DROP INDEX users_disabled, DROP INDEX users_last_seen_day, DROP INDEX users_name_key, DROP COLUMN name_key," +
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
  "CREATE INDEX users_disabled ON users (tenant, disabled, id)",
  ...entries.map(([name, columns]) => `CREATE INDEX ${name} ON sessions (${columns})`),
]
const dropIndexes = ["users_name_key", "users_last_seen_day", "users_disabled", ...Object.keys(indexesOfSessions)].map(
  (name) => `DROP INDEX ${name}`,
)
const dropColumn = "ALTER TABLE users DROP COLUMN last_seen_day"

/**
 * Adds what finds users by the beginning of their name, by the day of their last use and by being disabled, and sessions of
 * all users by creation and by address. To add the column of the name, MySQL and MariaDB copy the table; reads go on
 * meanwhile, and writes to `users` wait.
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
  sqlite: ["ALTER TABLE users ADD COLUMN last_seen_day datetime", addNameKey.sqlite, ...createIndexes],
  postgres: ["ALTER TABLE users ADD COLUMN last_seen_day timestamptz(3)", addNameKey.postgres, ...createIndexes],
  down: {
    server: async (runner: QueryRunner) => {
      for (const [, down, makes] of [...steps].reverse()) if (await isThere(runner, makes)) await runner.query(down)
    },
    sqlite: [...dropIndexes, dropColumn],
    postgres: [...dropIndexes, dropColumn],
  },
})
