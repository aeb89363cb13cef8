import { migration } from "./migration.js"

/**
 * Adds the mark of users that are being deleted. Deleting all rows of a user with many sessions or accounts in one
 * transaction exceeds the timeout of a statement, and holds the locks of all of them meanwhile.
 */
export const deletedUsers = migration({
  name: "0004-deleted-users",
  previousVersion: {
    compatible: true,
    reason: "the column may be null; users that are being deleted exist for it until their last row is gone",
  },
  makes: { table: "users", index: "users_deleted" },
  server: "ALTER TABLE users ADD COLUMN deleted DATETIME(3) NULL, ADD INDEX users_deleted (deleted)",
  sqlite: [`ALTER TABLE "users" ADD COLUMN "deleted" datetime`, `CREATE INDEX "users_deleted" ON "users" ("deleted")`],
  postgres: ["ALTER TABLE users ADD COLUMN deleted timestamptz(3)", "CREATE INDEX users_deleted ON users (deleted)"],
  down: {
    server: "ALTER TABLE users DROP INDEX users_deleted, DROP COLUMN deleted",
    sqlite: [`DROP INDEX "users_deleted"`, `ALTER TABLE "users" DROP COLUMN "deleted"`],
    postgres: "ALTER TABLE users DROP COLUMN deleted",
  },
})
