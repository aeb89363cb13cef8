import { migration } from "./migration.js"

/**
 * Until when a user whose sign-up has only begun gives way to another one with the same address; NULL for all others, and
 * as soon as anything else is written about the user. Users who are there already have NULL.
 */
export const provisionalUsers = migration({
  name: "0005-provisional-users",
  lastVersion: {
    compatible: true,
    reason:
      "the column that it adds may be null, as it is in rows that the last version inserts; set --provisional-sign-up only when that version is gone",
  },
  makes: { table: "users", column: "provisional_until" },
  server: "ALTER TABLE users ADD COLUMN provisional_until DATETIME(3) NULL",
  sqlite: `ALTER TABLE "users" ADD COLUMN "provisional_until" datetime`,
  postgres: "ALTER TABLE users ADD COLUMN provisional_until timestamptz(3)",
  down: "ALTER TABLE users DROP COLUMN provisional_until",
})
