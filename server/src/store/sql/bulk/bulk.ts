import { sealedAccounts } from "../accounts/sealed-accounts.js"
import { createCipher } from "../cipher.js"
import type { Database } from "../database.js"
import {
  type AccountRow,
  type AuthenticatorRow,
  disabledColumns,
  type SessionRow,
  type UserRow,
  type VerificationTokenRow,
} from "../schema/rows.js"
import { newHandle } from "../sessions/session-keys.js"
import { notRevoked } from "../sessions/session-rules.js"
import { privateExtra } from "../users/private-extra.js"
import { emailKey, nameKey } from "../users/text-keys.js"
import { type BulkTable, bulkTable } from "./table.js"

/**
 * Whole rows of a tenant, as they are read and written in bulk. Values that are sealed in the database are decrypted
 * here.
 */
export interface BulkRows {
  users: UserRow
  accounts: AccountRow
  sessions: SessionRow
  verificationTokens: VerificationTokenRow
  authenticators: AuthenticatorRow
}

export type BulkName = keyof BulkRows

/** The tables. A table comes before those that reference it. */
export const bulkNames = ["users", "accounts", "sessions", "verificationTokens", "authenticators"] as const

export type Bulk = { readonly [N in BulkName]: BulkTable<BulkRows[N]> }

interface BulkOptions {
  tenant: string
  encryptionKeys: readonly Buffer[]
  /** Whether to leave out the sessions that `revokeAll` has ended: copied, they would be valid again. */
  withoutRevoked?: boolean
}

/**
 * Creates access to all data of a tenant, for programs that move it. They must be the only writers meanwhile: a row
 * that another process writes at the same time fails their batch.
 */
export function bulk(database: Database, { tenant, encryptionKeys, withoutRevoked = false }: BulkOptions): Bulk {
  const { users, accounts, sessions, verificationTokens, authenticators } = database.tables
  const cipher = createCipher(encryptionKeys)
  const [sealed, ofUser] = [sealedAccounts(cipher), privateExtra(cipher)]
  return {
    // `emailKey` is not among the selected columns.
    users: bulkTable(database, users, {
      tenant,
      seal: (row) => timed({ ...row, nameKey: nameKey(row.name), privateExtra: ofUser.seal(row) }),
      open: (row) => ({ ...row, emailKey: emailKey(row.email), privateExtra: ofUser.open(row) }),
      hidden: ["created", "updated", ...disabledColumns],
      unselected: ["privateExtra"],
    }),
    accounts: bulkTable(database, accounts, {
      tenant,
      seal: (row) => timed({ ...row, ...sealed.seal(row, tenant) }),
      open: (row) => ({ ...sealed.open(row, tenant), tenant }),
      owner: "userId",
      hidden: ["created", "updated"],
    }),
    sessions: bulkTable(database, sessions, {
      tenant,
      seal: (row) => ({ ...row, id: row.id ?? newHandle(), created: row.created ?? new Date() }),
      owner: "userId",
      expiry: "expires",
      condition: withoutRevoked ? notRevoked("t") : undefined,
      hidden: [
        ...(["id", "created", "lastSeen", "ip", "userAgent", "authMethod", "provider", "impersonator"] as const),
        "providerSessionId",
      ],
    }),
    verificationTokens: bulkTable(database, verificationTokens, { tenant, expiry: "expires" }),
    authenticators: bulkTable(database, authenticators, {
      tenant,
      seal: timed,
      owner: "userId",
      hidden: ["created", "updated"],
    }),
  }
}

/** Fills in the current time where the times of a row are unknown. */
function timed<Row extends { created?: Date | undefined; updated?: Date | undefined }>(row: Row): Row {
  const now = new Date()
  return { ...row, created: row.created ?? now, updated: row.updated ?? now }
}
