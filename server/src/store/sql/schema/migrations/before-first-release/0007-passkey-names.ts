import { migration } from "../migration.js"

const [rebuilt, former] = ["tenant, user_id, credential_id", "tenant, user_id"]

/**
 * Adds the names that users give to their authenticators, and when a sign-in last used each. The authenticators of a user
 * are now read page by page in the order of their credential ids, which are therefore in the index of the user. On MySQL
 * and MariaDB it is replaced in one statement, because the foreign key needs an index at every moment.
 */
export const passkeyNames = migration({
  name: "0007-passkey-names",
  previousVersion: { compatible: true, reason: "it neither reads nor writes the new columns, which may be null" },
  makes: { table: "authenticators", column: "display_name" },
  server:
    "ALTER TABLE authenticators ADD COLUMN last_used DATETIME(3) NULL," +
    " ADD COLUMN display_name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL," +
    ` DROP INDEX authenticators_user_id, ADD INDEX authenticators_user_id (${rebuilt})`,
  sqlite: [
    "ALTER TABLE authenticators ADD COLUMN last_used datetime",
    "ALTER TABLE authenticators ADD COLUMN display_name text",
    "DROP INDEX authenticators_user_id",
    `CREATE INDEX authenticators_user_id ON authenticators (${rebuilt})`,
  ],
  postgres: [
    "ALTER TABLE authenticators ADD COLUMN last_used timestamptz(3)",
    'ALTER TABLE authenticators ADD COLUMN display_name varchar(100) COLLATE "C"',
    "DROP INDEX authenticators_user_id",
    `CREATE INDEX authenticators_user_id ON authenticators (${rebuilt})`,
  ],
  down: {
    server:
      "ALTER TABLE authenticators DROP INDEX authenticators_user_id," +
      ` ADD INDEX authenticators_user_id (${former}), DROP COLUMN last_used, DROP COLUMN display_name`,
    sqlite: [
      "DROP INDEX authenticators_user_id",
      `CREATE INDEX authenticators_user_id ON authenticators (${former})`,
      "ALTER TABLE authenticators DROP COLUMN last_used",
      "ALTER TABLE authenticators DROP COLUMN display_name",
    ],
    postgres: [
      "DROP INDEX authenticators_user_id",
      `CREATE INDEX authenticators_user_id ON authenticators (${former})`,
      "ALTER TABLE authenticators DROP COLUMN last_used, DROP COLUMN display_name",
    ],
  },
})
