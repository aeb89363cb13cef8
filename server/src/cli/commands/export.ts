import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import type { Configuration } from "../../config/configuration.js"
import { exportLine, policyLine } from "../../import/export-line.js"
import { bulk, bulkNames, sessionPolicyStore } from "../../store/sql/index.js"
import { bulkTimeoutMs } from "./import-source.js"
import type { CommandOutput } from "./output.js"
import { requireReadableTexts, requireTenant, withDatabase } from "./with-database.js"

/** `authwire export`: prints all data of a tenant, as one JSON object per line. Throws StartError. */
export async function exportTenant(given: Configuration<"export">, { print }: CommandOutput): Promise<undefined> {
  const configuration = { ...withDevSecret(given), databaseStatementTimeoutMs: bulkTimeoutMs, readOnly: true }
  const { tenant, withSecrets } = configuration
  await withDatabase(
    configuration,
    async (database) => {
      await requireTenant(database, tenant)
      await requireReadableTexts(database)
      const tables = bulk(database, {
        tenant,
        encryptionKeys: encryptionKeys(configuration),
        withoutRevoked: true,
      })
      for (const name of bulkNames) {
        for await (const rows of tables[name].pages()) {
          const lines = rows.map((row) => exportLine(name, row, withSecrets))
          // Waits for a slow reader. Otherwise unread output would accumulate in memory.
          await print(lines.join(""))
        }
      }
      const policy = await sessionPolicyStore(database).get({ tenant })
      if (Object.keys(policy).length > 0) await print(policyLine(policy))
    },
    { what: "export" },
  )
}
