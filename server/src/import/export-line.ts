import type { BulkName, BulkRows } from "../store/sql/index.js"
import type { SessionPolicy } from "../store/types.js"

/**
 * The fields with credentials for an account at its provider. `extra` is one of them because providers put credentials
 * into further fields.
 */
const secretFields = ["access_token", "refresh_token", "id_token", "extra"]

/**
 * Formats one row as a line of JSON: `table` and the properties of the contract, with `extra` as one property. Dates
 * are in ISO 8601. The private properties of a user are another one, `privateExtra`, which is a secret too. Session tokens
 * and verification tokens are replaced by their SHA-256 in hexadecimal, `tokenSha256`.
 */
export function exportLine(table: BulkName, row: BulkRows[BulkName], withSecrets: boolean): string {
  const {
    tenant: _tenant,
    tokenHash,
    emailKey: _key,
    privateExtra,
    ...rest
  } = row as BulkRows["users"] & { tokenHash?: Buffer }
  const kept = Object.entries(rest).filter(
    ([name]) => table !== "accounts" || withSecrets || !secretFields.includes(name),
  )
  const line = {
    table,
    ...(tokenHash && { tokenSha256: tokenHash.toString("hex") }),
    ...Object.fromEntries(kept),
    ...(withSecrets && privateExtra !== undefined && { privateExtra: JSON.parse(privateExtra) }),
  }
  return `${JSON.stringify(line)}\n`
}

/** Formats the session policy of the tenant as a line of JSON, with its rules. Durations are in milliseconds. */
export function policyLine(policy: SessionPolicy): string {
  return `${JSON.stringify({ table: "sessionPolicies", ...policy })}\n`
}
