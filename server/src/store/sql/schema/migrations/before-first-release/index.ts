import type { QueryRunner } from "typeorm"
import { nameOf } from "../migration.js"
import { disabledUsers } from "./0005-disabled-users.js"
import { passkeyNames } from "./0007-passkey-names.js"
import { findUsers } from "./0008-find-users.js"
import { auditEntries } from "./0009-audit-entries.js"
import { sessionPolicies } from "./0010-session-policies.js"
import { listedKeys } from "./0012-listed-keys.js"

/** The migrations that the last builds before the first release had. */
const required = ["0001-tables", "0002-private-extra", "0003-changed-keys", "0004-deleted-users"]

/** Those that make the tables of these builds into the tables of the first release. */
const added = [disabledUsers, passkeyNames, findUsers, auditEntries, sessionPolicies, listedKeys].map(
  (Migration) => new Migration(),
)

/** Those of even earlier builds, which had them after `0001-tables`. Later builds made their tables in `0001-tables`. */
const merged = [
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

const names = new Set([...required, ...added.map(nameOf), ...merged])

/** Returns whether only builds before the first release had a migration of this name. */
export const isBeforeFirstRelease = (name: string): boolean => names.has(name)

/**
 * Returns the migrations that the tables of a build before the first release lack, so that this version cannot complete
 * them. Empty also if there are no tables yet.
 *
 * @param executed the names of the migrations that are recorded in the database.
 */
export function missingBeforeFirstRelease(executed: readonly string[]): string[] {
  if (!executed.some(isBeforeFirstRelease)) return []
  const hasMerged = executed.some((name) => merged.includes(name))
  return [...required, ...(hasMerged ? merged : [])].filter((name) => !executed.includes(name))
}

/**
 * Makes the tables of a build before the first release into those of the first release, or back. Returns whether there
 * are such tables. What the build itself has added is neither added again nor removed.
 */
export async function convertEarlierTables(runner: QueryRunner, direction: "up" | "down"): Promise<boolean> {
  const rows: { name: string }[] = await runner.query("SELECT name FROM authwire_migrations")
  const executed = rows.map(nameOf)
  if (!executed.some(isBeforeFirstRelease)) return false
  const pending = added.filter((migration) => !executed.includes(nameOf(migration)))
  for (const migration of direction === "up" ? pending : pending.reverse()) await migration[direction](runner)
  return true
}
