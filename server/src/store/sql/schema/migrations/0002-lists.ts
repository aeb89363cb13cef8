import { migration } from "./migration.js"

/**
 * Adds the columns and indexes for lists: when each user was created, an index of a tenant's users in that order, and
 * an index of a user's accounts in the order of their keys.
 *
 * The creation time of existing users is unknown, so they get the time of the migration. Any number of them may have
 * the same time; the id in the index makes their order unique.
 *
 * The column has a default because a version that does not know it may still insert rows during the upgrade. SQLite
 * adds columns only with constant defaults; there every process that uses the file runs the new version, which sets the
 * time.
 *
 * InnoDB appends the primary key to each index. SQLite does not, and would read all accounts of a tenant in the order
 * of their key to find those of one user. On PostgreSQL the index was created with the key in it.
 */
export const lists = migration({
  name: "0002-lists",
  previousVersion: {
    compatible: true,
    reason: "the column that it adds has a default for rows that the previous version inserts",
  },
  makes: { table: "users", column: "created" },
  server: `ALTER TABLE users ADD COLUMN created DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    ADD INDEX users_created (tenant, created, id)`,
  sqlite: [
    `ALTER TABLE "users" ADD COLUMN "created" datetime NOT NULL DEFAULT '1970-01-01 00:00:00.000'`,
    `UPDATE "users" SET "created" = strftime('%Y-%m-%d %H:%M:%f', 'now')`,
    `CREATE INDEX "users_created" ON "users" ("tenant", "created", "id")`,
    `DROP INDEX "accounts_user_id"`,
    `CREATE INDEX "accounts_user_id" ON "accounts" ("tenant", "user_id", "provider", "provider_account_id")`,
  ],
  postgres: [
    "ALTER TABLE users ADD COLUMN created timestamptz(3) NOT NULL DEFAULT now()",
    "CREATE INDEX users_created ON users (tenant, created, id)",
  ],
  down: {
    server: "ALTER TABLE users DROP INDEX users_created, DROP COLUMN created",
    postgres: "ALTER TABLE users DROP COLUMN created",
    sqlite: [
      `DROP INDEX "accounts_user_id"`,
      `CREATE INDEX "accounts_user_id" ON "accounts" ("tenant", "user_id")`,
      `DROP INDEX "users_created"`,
      `ALTER TABLE "users" DROP COLUMN "created"`,
    ],
  },
})
