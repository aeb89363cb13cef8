import { migration } from "./migration.js"

/**
 * Adds the time until which a user with an incomplete sign-up can be replaced by a new user with the same address. It
 * is NULL for all other users, and as soon as anything else is written about the user. Existing users have NULL.
 */
export const provisionalUsers = migration({
  name: "0005-provisional-users",
  previousVersion: {
    compatible: true,
    reason:
      "the column that it adds may be null, as it is in rows that the previous version inserts; set --provisional-sign-up only when no replica runs that version any more",
  },
  makes: { table: "users", column: "provisional_until" },
  server: "ALTER TABLE users ADD COLUMN provisional_until DATETIME(3) NULL",
  sqlite: `ALTER TABLE "users" ADD COLUMN "provisional_until" datetime`,
  postgres: "ALTER TABLE users ADD COLUMN provisional_until timestamptz(3)",
  down: "ALTER TABLE users DROP COLUMN provisional_until",
})
