import { migration } from "./migration.js"

/**
 * What lists read by: when each user was created, with an index that has the users of a tenant in that order, and the index
 * that has the accounts of a user in theirs.
 *
 * Of the users who are there already nobody knows it: they get the moment of the migration. So there may be any number of
 * the same moment, and the id behind it makes their order one.
 *
 * The column has a default because a version that does not know it may still insert rows while this one is brought in.
 * SQLite adds columns with constants as defaults only; whoever uses the file has the new version, which says the moment.
 *
 * InnoDB has the key of a row at the end of each index. SQLite has not, and would read all accounts of a tenant in the
 * order of their key to find those of one user. On PostgreSQL the index was made with the key in it.
 */
export const lists = migration({
  name: "0002-lists",
  lastVersion: {
    compatible: true,
    reason: "the column that it adds has a default for rows that the last version inserts",
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
