import { tables } from "./0001-tables.js"
import { privateExtra } from "./0002-private-extra.js"
import { changedKeys } from "./0003-changed-keys.js"
import { deletedUsers } from "./0004-deleted-users.js"
import { disabledUsers } from "./0005-disabled-users.js"
import { passkeyNames } from "./0007-passkey-names.js"
import { auditEntries } from "./0009-audit-entries.js"

/** All migrations, in their order. */
export const migrations = [tables, privateExtra, changedKeys, deletedUsers, disabledUsers, passkeyNames, auditEntries]

/**
 * The migrations that builds before the first release had after `0001-tables`, which makes the tables that they made all
 * together.
 */
export const merged = [
  "0002-lists",
  "0003-idempotency",
  "0004-leases",
  "0005-provisional-users",
  "0006-expired-verification-tokens",
  "0007-session-handles",
  "0008-row-times",
  "0009-events",
  "0010-token-refreshes",
  "0011-caches",
]
