import type { QueryRunner } from "typeorm"
import { isThere, migration } from "./migration.js"

/** The new columns of each table. Users have had `created` since 0002-lists. */
const columns: readonly (readonly [table: string, ...columns: [string, ...string[]]])[] = [
  ["users", "updated"],
  ["accounts", "created", "updated"],
  ["authenticators", "created", "updated"],
]

const changes = (change: (table: string, column: string) => string) =>
  columns.flatMap(([table, ...names]) => names.map((name) => change(table, name)))

/**
 * Adds when accounts and authenticators were created, and when they and users were last written.
 *
 * These times are unknown for existing rows, so they get the time of the migration. A search for rows that were written
 * since a time first finds too many rows but misses none. Rows that the previous version inserts meanwhile get the
 * default; rows that it updates keep their time.
 */
export const rowTimes = migration({
  name: "0008-row-times",
  previousVersion: {
    compatible: true,
    reason: "the columns that it adds have defaults for rows that the previous version inserts",
  },
  server: (runner) => onServer(runner, "ADD"),
  sqlite: [
    ...changes(
      (table, column) =>
        `ALTER TABLE "${table}" ADD COLUMN "${column}" datetime NOT NULL DEFAULT '1970-01-01 00:00:00.000'`,
    ),
    ...columns.map(([table, ...names]) => {
      const now = names.map((name) => `"${name}" = strftime('%Y-%m-%d %H:%M:%f', 'now')`)
      return `UPDATE "${table}" SET ${now.join(", ")}`
    }),
  ],
  postgres: changes(
    (table, column) => `ALTER TABLE ${table} ADD COLUMN ${column} timestamptz(3) NOT NULL DEFAULT now()`,
  ),
  down: {
    server: (runner) => onServer(runner, "DROP"),
    postgres: changes((table, column) => `ALTER TABLE ${table} DROP COLUMN ${column}`),
    sqlite: changes((table, column) => `ALTER TABLE "${table}" DROP COLUMN "${column}"`),
  },
})

/**
 * Changes each table by one statement. A process that ends between two of them leaves a state from which the next one
 * continues.
 */
async function onServer(runner: QueryRunner, direction: "ADD" | "DROP"): Promise<void> {
  for (const [table, ...names] of columns) {
    const [column] = names
    if ((await isThere(runner, { table, column })) === (direction === "ADD")) continue
    const type = direction === "ADD" ? " DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)" : ""
    await runner.query(`ALTER TABLE ${table} ${names.map((name) => `${direction} COLUMN ${name}${type}`).join(", ")}`)
  }
}
