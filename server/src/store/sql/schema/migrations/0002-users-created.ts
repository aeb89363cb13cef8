import { migration } from "./migration.js"

/**
 * When each user was created, and an index that lists the users of a tenant in that order.
 *
 * Of those who are there already nobody knows it: they get the moment of the migration. So there may be any number of the
 * same moment, and the id behind it makes their order one.
 *
 * The column has a default because a version that does not know it may still insert rows while this one is brought in.
 * SQLite adds columns with constants as defaults only; whoever uses the file has the new version, which says the moment.
 */
export const usersCreated = migration({
  name: "0002-users-created",
  server: `ALTER TABLE users ADD COLUMN created DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    ADD INDEX users_created (tenant, created, id)`,
  sqlite: [
    `ALTER TABLE "users" ADD COLUMN "created" datetime NOT NULL DEFAULT '1970-01-01 00:00:00.000'`,
    `UPDATE "users" SET "created" = strftime('%Y-%m-%d %H:%M:%f', 'now')`,
    `CREATE INDEX "users_created" ON "users" ("tenant", "created", "id")`,
  ],
  down: {
    server: "ALTER TABLE users DROP INDEX users_created, DROP COLUMN created",
    sqlite: [`DROP INDEX "users_created"`, `ALTER TABLE "users" DROP COLUMN "created"`],
  },
})
