import { migration } from "../migration.js"

const down = "ALTER TABLE users DROP COLUMN disabled, DROP COLUMN disabled_until, DROP COLUMN disabled_reason"

/** Adds since when, until when and why a user is disabled. */
export const disabledUsers = migration({
  name: "0005-disabled-users",
  previousVersion: {
    compatible: true,
    reason: "the columns may be null; a user who is disabled can sign in through it",
  },
  makes: { table: "users", column: "disabled" },
  server:
    "ALTER TABLE users ADD COLUMN disabled DATETIME(3) NULL, ADD COLUMN disabled_until DATETIME(3) NULL," +
    " ADD COLUMN disabled_reason TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL",
  sqlite: [
    'ALTER TABLE "users" ADD COLUMN "disabled" datetime',
    'ALTER TABLE "users" ADD COLUMN "disabled_until" datetime',
    'ALTER TABLE "users" ADD COLUMN "disabled_reason" text',
  ],
  postgres:
    "ALTER TABLE users ADD COLUMN disabled timestamptz(3), ADD COLUMN disabled_until timestamptz(3)," +
    ' ADD COLUMN disabled_reason text COLLATE "C"',
  down: {
    server: down,
    sqlite: ["disabled", "disabled_until", "disabled_reason"].map((name) => `ALTER TABLE users DROP COLUMN ${name}`),
    postgres: down,
  },
})
