import type { QueryRunner } from "typeorm"
import { isThere, migration } from "./migration.js"

/**
 * The number of rows that one statement updates. It is limited because a replication group limits the size of
 * transactions.
 */
const rowsAtOnce = 1000

const made = { table: "sessions", column: "id" }

/**
 * Adds what identifies a session to callers without its token: a random handle, when and how it began, and when it was
 * last seen.
 *
 * Existing sessions get a handle, and the time of the migration as that of their creation, which is unknown. How they
 * began stays unknown. The same holds for sessions that the previous version inserts meanwhile; their handles are the
 * default of the column.
 *
 * The index of a user's sessions now has them in the order of their creation, for lists. The deletion of a user's
 * sessions uses it too.
 */
export const sessionHandles = migration({
  name: "0007-session-handles",
  previousVersion: {
    compatible: true,
    reason: "the columns that it adds may be null or have defaults for rows that the previous version inserts",
  },
  makes: made,
  server: onServer,
  sqlite: [
    `ALTER TABLE "sessions" ADD COLUMN "id" text`,
    `ALTER TABLE "sessions" ADD COLUMN "created" datetime NOT NULL DEFAULT '1970-01-01 00:00:00.000'`,
    `ALTER TABLE "sessions" ADD COLUMN "last_seen" datetime`,
    `ALTER TABLE "sessions" ADD COLUMN "ip" text`,
    `ALTER TABLE "sessions" ADD COLUMN "user_agent" text`,
    `ALTER TABLE "sessions" ADD COLUMN "auth_method" text`,
    `ALTER TABLE "sessions" ADD COLUMN "provider" text`,
    `ALTER TABLE "sessions" ADD COLUMN "impersonator" text`,
    `UPDATE "sessions" SET "id" = hex(randomblob(16)), "created" = strftime('%Y-%m-%d %H:%M:%f', 'now')`,
    `CREATE UNIQUE INDEX "sessions_id" ON "sessions" ("tenant", "id")`,
    `DROP INDEX "sessions_user_id"`,
    `CREATE INDEX "sessions_user_id" ON "sessions" ("tenant", "user_id", "created", "id")`,
  ],
  postgres: [
    `ALTER TABLE sessions
      ADD COLUMN id text COLLATE "C" DEFAULT upper(replace(gen_random_uuid()::text, '-', '')),
      ADD COLUMN created timestamptz(3) NOT NULL DEFAULT now(),
      ADD COLUMN last_seen timestamptz(3),
      ADD COLUMN ip varchar(64) COLLATE "C",
      ADD COLUMN user_agent varchar(512) COLLATE "C",
      ADD COLUMN auth_method varchar(64) COLLATE "C",
      ADD COLUMN provider text COLLATE "C",
      ADD COLUMN impersonator text COLLATE "C"`,
    "CREATE UNIQUE INDEX sessions_id ON sessions (tenant, id)",
    "DROP INDEX sessions_user_id",
    "CREATE INDEX sessions_user_id ON sessions (tenant, user_id, created, id)",
  ],
  down: {
    server: `ALTER TABLE sessions DROP INDEX sessions_id,
      DROP INDEX sessions_user_id, ADD INDEX sessions_user_id (tenant, user_id),
      DROP COLUMN id, DROP COLUMN created, DROP COLUMN last_seen, DROP COLUMN ip, DROP COLUMN user_agent,
      DROP COLUMN auth_method, DROP COLUMN provider, DROP COLUMN impersonator`,
    postgres: [
      "DROP INDEX sessions_id",
      "DROP INDEX sessions_user_id",
      "CREATE INDEX sessions_user_id ON sessions (tenant, user_id)",
      `ALTER TABLE sessions DROP COLUMN id, DROP COLUMN created, DROP COLUMN last_seen, DROP COLUMN ip,
        DROP COLUMN user_agent, DROP COLUMN auth_method, DROP COLUMN provider, DROP COLUMN impersonator`,
    ],
    sqlite: [
      `DROP INDEX "sessions_id"`,
      `DROP INDEX "sessions_user_id"`,
      `CREATE INDEX "sessions_user_id" ON "sessions" ("tenant", "user_id")`,
      ...["id", "created", "last_seen", "ip", "user_agent", "auth_method", "provider", "impersonator"].map(
        (column) => `ALTER TABLE "sessions" DROP COLUMN "${column}"`,
      ),
    ],
  },
})

/**
 * Runs the steps on MySQL or MariaDB. A process that ends in between leaves a state from which the next one continues.
 * MySQL cannot add a column with a random default to existing rows. So the column is added first, then its default,
 * then the handles of the rows without one.
 */
async function onServer(runner: QueryRunner): Promise<void> {
  if (!(await isThere(runner, made))) {
    await runner.query(`ALTER TABLE sessions
      ADD COLUMN id VARBINARY(32) NULL,
      ADD COLUMN created DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
      ADD COLUMN last_seen DATETIME(3) NULL,
      ADD COLUMN ip VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      ADD COLUMN user_agent VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      ADD COLUMN auth_method VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      ADD COLUMN provider VARBINARY(255) NULL,
      ADD COLUMN impersonator VARBINARY(255) NULL,
      ADD UNIQUE INDEX sessions_id (tenant, id),
      DROP INDEX sessions_user_id,
      ADD INDEX sessions_user_id (tenant, user_id, created, id)`)
  }
  await runner.query("ALTER TABLE sessions ALTER COLUMN id SET DEFAULT (HEX(RANDOM_BYTES(16)))")
  const tenants: { tenant: Buffer }[] = await runner.query("SELECT DISTINCT tenant FROM sessions")
  for (const { tenant } of tenants) {
    const fill = `UPDATE sessions SET id = HEX(RANDOM_BYTES(16)) WHERE tenant = ? AND id IS NULL LIMIT ${rowsAtOnce}`
    while ((await runner.query(fill, [tenant])).affectedRows > 0);
  }
}
