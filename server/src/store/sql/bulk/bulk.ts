import { sealedAccounts } from "../accounts/sealed-accounts.js"
import { createCipher } from "../cipher.js"
import type { Database } from "../database.js"
import type { AccountRow, AuthenticatorRow, SessionRow, UserRow, VerificationTokenRow } from "../schema/entities.js"
import { newHandle } from "../sessions/session-keys.js"
import { emailKey } from "../users/email-key.js"
import { type BulkTable, bulkTable } from "./table.js"

/** Whole rows of a tenant, as they are read and written in bulk: what is sealed in the database stands here in the clear. */
export interface BulkRows {
  users: UserRow
  accounts: AccountRow
  sessions: SessionRow
  verificationTokens: VerificationTokenRow
  authenticators: AuthenticatorRow
}

export type BulkName = keyof BulkRows

/** The tables, those that others refer to first. */
export const bulkNames = ["users", "accounts", "sessions", "verificationTokens", "authenticators"] as const

export type Bulk = { readonly [N in BulkName]: BulkTable<BulkRows[N]> }

/**
 * What a tenant has, for programs that move all of it. They are the only ones that write meanwhile: a row that somebody
 * else writes at the same time fails their batch.
 */
export function bulk(
  database: Database,
  { tenant, encryptionKeys }: { tenant: string; encryptionKeys: readonly Buffer[] },
): Bulk {
  const { users, accounts, sessions, verificationTokens, authenticators } = database.tables
  const sealed = sealedAccounts(createCipher(encryptionKeys))
  return {
    // The key of the address is not among the columns that are read.
    users: bulkTable(database, users, {
      tenant,
      seal: timed,
      open: (row) => ({ ...row, emailKey: emailKey(row.email) }),
      hidden: ["created", "updated"],
    }),
    accounts: bulkTable(database, accounts, {
      tenant,
      seal: (row) => timed({ ...row, ...sealed.seal(row, tenant) }),
      open: (row) => ({ ...sealed.open(row, tenant), tenant }),
      hidden: ["created", "updated"],
    }),
    sessions: bulkTable(database, sessions, {
      tenant,
      seal: (row) => ({ ...row, id: row.id ?? newHandle(), created: row.created ?? new Date() }),
      hidden: ["id", "created", "lastSeen", "ip", "userAgent", "authMethod", "provider", "impersonator"],
    }),
    verificationTokens: bulkTable(database, verificationTokens, { tenant }),
    authenticators: bulkTable(database, authenticators, { tenant, seal: timed, hidden: ["created", "updated"] }),
  }
}

/** What nobody knows is now. */
function timed<Row extends { created?: Date | undefined; updated?: Date | undefined }>(row: Row): Row {
  const now = new Date()
  return { ...row, created: row.created ?? now, updated: row.updated ?? now }
}
