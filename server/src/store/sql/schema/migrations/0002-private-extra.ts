import { migration } from "./migration.js"

/**
 * Adds the private properties of users: JSON, sealed like the tokens of accounts. They have a column of their own, so
 * that no statement reads them that is not meant to.
 */
export const privateExtra = migration({
  name: "0002-private-extra",
  previousVersion: { compatible: true, reason: "it neither reads nor writes the new column, which may be null" },
  makes: { table: "users", column: "private_extra" },
  server: "ALTER TABLE users ADD COLUMN private_extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL",
  sqlite: `ALTER TABLE "users" ADD COLUMN "private_extra" text`,
  postgres: 'ALTER TABLE users ADD COLUMN private_extra text COLLATE "C"',
  down: "ALTER TABLE users DROP COLUMN private_extra",
})
