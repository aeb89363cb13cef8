import { migration } from "./migration.js"

/**
 * Users.
 *
 * Ids are bytes (VARBINARY): every collation of the servers finds some different ids equal, and two ids that are equal
 * are one user. `email_key` is the address trimmed and in lower case, as far as ASCII goes, and NULL where there is
 * none: uniqueness is the index's business, and NULLs do not collide. 1,280 bytes are 320 characters of four.
 * Free text is utf8mb4_bin, which both servers have and which folds nothing. `extra` is JSON as text: the servers' JSON
 * types change numbers and the order of keys. A picture may be a data URL, beyond what TEXT holds (65,535 bytes).
 */
export const users = migration({
  name: "0001-users",
  server: `
    CREATE TABLE users (
      id VARBINARY(255) NOT NULL,
      email VARCHAR(320) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      email_key VARBINARY(1280) NULL,
      email_verified DATETIME(3) NULL,
      name TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      image MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      PRIMARY KEY (id),
      UNIQUE INDEX users_email_key (email_key)
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "users" (
      "id" text PRIMARY KEY NOT NULL,
      "email" text,
      "email_key" text,
      "email_verified" datetime,
      "name" text,
      "image" text,
      "extra" text NOT NULL
    )`,
    `CREATE UNIQUE INDEX "users_email_key" ON "users" ("email_key")`,
  ],
  down: "DROP TABLE users",
})
