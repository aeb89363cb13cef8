import type { QueryRunner } from "typeorm"
import { isThere, migration } from "./migration.js"

/** What is new, table by table. Users have had `created` since 0002-lists. */
const columns: readonly (readonly [table: string, ...columns: [string, ...string[]]])[] = [
  ["users", "updated"],
  ["accounts", "created", "updated"],
  ["authenticators", "created", "updated"],
]

const changes = (change: (table: string, column: string) => string) =>
  columns.flatMap(([table, ...names]) => names.map((name) => change(table, name)))

/**
 * When accounts and authenticators were created, and when they and users were written last.
 *
 * Of the rows that are there already nobody knows it: they get the moment of the migration. So whoever looks for what was
 * written since a moment finds too much at first, and nothing is missed. Rows that the last version inserts meanwhile get
 * theirs by the default; of those that it changes, the time stays as it was.
 */
export const rowTimes = migration({
  name: "0008-row-times",
  lastVersion: {
    compatible: true,
    reason: "the columns that it adds have defaults for rows that the last version inserts",
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

/** One statement for each table. A process that ends between two of them leaves what the next one goes on from. */
async function onServer(runner: QueryRunner, direction: "ADD" | "DROP"): Promise<void> {
  for (const [table, ...names] of columns) {
    const [column] = names
    if ((await isThere(runner, { table, column })) === (direction === "ADD")) continue
    const type = direction === "ADD" ? " DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)" : ""
    await runner.query(`ALTER TABLE ${table} ${names.map((name) => `${direction} COLUMN ${name}${type}`).join(", ")}`)
  }
}
