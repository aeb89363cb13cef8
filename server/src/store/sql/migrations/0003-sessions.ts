import { migration } from "./migration.js"

/**
 * Sessions, each named by the SHA-256 of its token: who reads the table, or a backup of it, cannot sign in by it.
 *
 * The index on `expires` is for removing what has expired.
 */
export const sessions = migration({
  name: "0003-sessions",
  server: `
    CREATE TABLE sessions (
      token_hash BINARY(32) NOT NULL,
      user_id VARBINARY(255) NOT NULL,
      expires DATETIME(3) NOT NULL,
      extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      PRIMARY KEY (token_hash),
      INDEX sessions_user_id (user_id),
      INDEX sessions_expires (expires),
      CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
        ON DELETE NO ACTION ON UPDATE NO ACTION
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "sessions" (
      "token_hash" blob PRIMARY KEY NOT NULL,
      "user_id" text NOT NULL,
      "expires" datetime NOT NULL,
      "extra" text NOT NULL,
      CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id")
        ON DELETE NO ACTION ON UPDATE NO ACTION
    )`,
    `CREATE INDEX "sessions_user_id" ON "sessions" ("user_id")`,
    `CREATE INDEX "sessions_expires" ON "sessions" ("expires")`,
  ],
  down: "DROP TABLE sessions",
})
