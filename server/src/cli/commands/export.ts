import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import { type BulkName, type BulkRows, bulk, bulkNames, sessionPolicyStore } from "../../store/sql/index.js"
import type { SessionPolicy } from "../../store/types.js"
import { bulkTimeoutMs } from "./import-source.js"
import type { Work } from "./output.js"
import { requireReadableTexts, requireTenant, withDatabase } from "./with-database.js"

/** `authwire export`: prints all data of a tenant, as one JSON object per line. Throws StartError. */
export const exportTenant: Work<"export"> = async (given, { print }) => {
  const configuration = { ...withDevSecret(given), databaseStatementTimeoutMs: bulkTimeoutMs, readOnly: true }
  const { tenant, withSecrets } = configuration
  await withDatabase(
    configuration,
    async (opened) => {
      const database = await requireTenant(opened, tenant)
      await requireReadableTexts(database)
      const tables = bulk(database, {
        tenant,
        encryptionKeys: encryptionKeys(configuration),
        withoutRevoked: true,
      })
      const counts = Object.fromEntries(bulkNames.map((name) => [name, 0])) as Record<BulkName, number>
      for (const name of bulkNames) {
        for await (const rows of tables[name].pages()) {
          const lines = rows.map((row) => exportLine(name, row, withSecrets))
          // Waits for a slow reader. Otherwise unread output would accumulate in memory.
          await print(lines.join(""))
          counts[name] += rows.length
        }
      }
      const policy = await sessionPolicyStore(database).get({ tenant })
      if (Object.keys(policy).length > 0) await print(policyLine(policy))
      // Whoever reads a part of the export knows that it is one.
      await print(`${JSON.stringify({ table: "end", ...counts })}\n`)
    },
    { what: "export" },
  )
}

/** The fields with credentials of an account. `extra` is one, because providers have further ones. */
const secretFields = ["access_token", "refresh_token", "id_token", "extra"]

/**
 * Formats one row as a line of JSON: `table` and the properties of the contract, with `extra` as one property. Dates
 * are in ISO 8601. The private properties of a user are another one, `privateExtra`, which is a secret too. Session tokens
 * and verification tokens are replaced by their SHA-256 in hexadecimal, `tokenSha256`.
 */
function exportLine(table: BulkName, row: BulkRows[BulkName], withSecrets: boolean): string {
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
    // Also if there are none, so that an import knows that none were left out.
    ...(withSecrets && table === "users" && { privateExtra: JSON.parse(privateExtra ?? "{}") }),
  }
  return `${JSON.stringify(line)}\n`
}

/** Formats the session policy of the tenant as a line of JSON, with its rules. Durations are in milliseconds. */
function policyLine(policy: SessionPolicy): string {
  return `${JSON.stringify({ table: "sessionPolicies", ...policy })}\n`
}
