import type { Account, Extra } from "../../types.js"
import type { Cipher } from "../cipher.js"
import { jsonText } from "../schema/extra.js"
import type { AccountRow } from "../schema/rows.js"

const sealedFields = ["access_token", "refresh_token", "id_token"] as const

/** The columns with sealed values. */
export const sealedColumns = [...sealedFields, "extra"] as const

/**
 * The conversion of accounts to and from their stored form. Credentials for the provider are sealed. `extra` is sealed
 * as a whole, because providers put credentials there under their own names (`oauth_token_secret`).
 */
export interface SealedAccounts {
  seal(account: Account, tenant: string): AccountRow
  /** Throws ENCRYPTION_KEY_MISSING if a value cannot be opened, or is not sealed. */
  open(row: Account, tenant: string): Account
  /** Returns the account without its sealed values. */
  withoutSealed(row: Account): Account
  /** Returns whether all sealed values of the row are sealed with the first key. */
  isCurrent(row: Account): boolean
}

export function sealedAccounts(cipher: Cipher): SealedAccounts {
  return {
    seal(account, tenant) {
      const row: AccountRow = { ...account, tenant }
      for (const field of sealedFields) {
        const value = account[field]
        if (value !== undefined) row[field] = cipher.seal(value, contextOf(account, tenant, field))
      }
      if (!isEmpty(account.extra)) {
        // The column holds JSON, and sealed text is a JSON string.
        row.extra = cipher.seal(jsonText(account.extra), contextOf(account, tenant, "extra")) as unknown as Extra
      }
      return row
    },

    open(row, tenant) {
      const account = { ...row }
      for (const field of sealedFields) {
        const value = row[field]
        if (value !== undefined) account[field] = cipher.open(value, contextOf(row, tenant, field))
      }
      if (!isEmpty(row.extra)) {
        account.extra = JSON.parse(cipher.open(textOf(row.extra), contextOf(row, tenant, "extra")))
      }
      return account
    },

    withoutSealed(row) {
      const account: Account = { ...row, extra: {} }
      for (const field of sealedFields) account[field] = undefined
      return account
    },

    isCurrent(row) {
      const sealed: unknown = row.extra
      return (
        sealedFields.every((field) => row[field] === undefined || cipher.isCurrent(row[field])) &&
        (typeof sealed === "string" ? cipher.isCurrent(sealed) : isEmpty(row.extra))
      )
    },
  }
}

/** Returns a stored value as text: that of `extra` is a string if it is sealed. */
function textOf(stored: unknown): string {
  return typeof stored === "string" ? stored : JSON.stringify(stored)
}

function contextOf({ provider, providerAccountId, userId }: Account, tenant: string, field: string): string[] {
  return [tenant, provider, providerAccountId, userId, field]
}

function isEmpty(stored: string | Extra | undefined): boolean {
  return stored === undefined || (typeof stored === "object" && Object.keys(stored).length === 0)
}
