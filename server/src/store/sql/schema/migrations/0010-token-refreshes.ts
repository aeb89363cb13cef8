import { migration } from "./migration.js"

/**
 * Adds the state of token refreshes to accounts: which process refreshes the tokens and until when, or why the last
 * refresh failed and until when it is not retried. The mark is a hash of the refresh token that failed. All columns are
 * NULL for an account without such a state.
 */
export const tokenRefreshes = migration({
  name: "0010-token-refreshes",
  previousVersion: {
    compatible: true,
    reason: "the columns that it adds may be null, as they are in rows that the previous version inserts",
  },
  makes: { table: "accounts", column: "refresh_holder" },
  server: `ALTER TABLE accounts
    ADD COLUMN refresh_holder VARBINARY(63) NULL,
    ADD COLUMN refresh_until DATETIME(3) NULL,
    ADD COLUMN refresh_failure VARBINARY(64) NULL,
    ADD COLUMN refresh_mark BINARY(32) NULL`,
  sqlite: [
    `ALTER TABLE "accounts" ADD COLUMN "refresh_holder" text`,
    `ALTER TABLE "accounts" ADD COLUMN "refresh_until" datetime`,
    `ALTER TABLE "accounts" ADD COLUMN "refresh_failure" text`,
    `ALTER TABLE "accounts" ADD COLUMN "refresh_mark" blob`,
  ],
  postgres: `ALTER TABLE accounts
    ADD COLUMN refresh_holder text COLLATE "C",
    ADD COLUMN refresh_until timestamptz(3),
    ADD COLUMN refresh_failure text COLLATE "C",
    ADD COLUMN refresh_mark bytea`,
  down: {
    server: `ALTER TABLE accounts DROP COLUMN refresh_holder, DROP COLUMN refresh_until, DROP COLUMN refresh_failure,
      DROP COLUMN refresh_mark`,
    postgres: `ALTER TABLE accounts DROP COLUMN refresh_holder, DROP COLUMN refresh_until,
      DROP COLUMN refresh_failure, DROP COLUMN refresh_mark`,
    sqlite: ["refresh_holder", "refresh_until", "refresh_failure", "refresh_mark"].map(
      (column) => `ALTER TABLE "accounts" DROP COLUMN "${column}"`,
    ),
  },
})
