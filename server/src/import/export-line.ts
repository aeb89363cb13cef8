import type { BulkName, BulkRows } from "../store/sql/index.js"

/** What opens an account at its provider. Providers put credentials into further fields too. */
const secretFields = ["access_token", "refresh_token", "id_token", "extra"]

/**
 * One row as a line of JSON: `table`, and the properties of the contract, `extra` apart. Dates are in ISO 8601. Of session
 * tokens and verification tokens there is only the SHA-256, in hexadecimal: `tokenSha256`.
 */
export function exportLine(table: BulkName, row: BulkRows[BulkName], withSecrets: boolean): string {
  const { tenant: _tenant, tokenHash, emailKey: _key, ...rest } = row as BulkRows["users"] & { tokenHash?: Buffer }
  const kept = Object.entries(rest).filter(
    ([name]) => table !== "accounts" || withSecrets || !secretFields.includes(name),
  )
  const line = { table, ...(tokenHash && { tokenSha256: tokenHash.toString("hex") }), ...Object.fromEntries(kept) }
  return `${JSON.stringify(line)}\n`
}
