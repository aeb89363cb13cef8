import { encryptionKeys, openMigratedDatabase } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-secret.js"
import type { Configuration } from "../../config/configuration.js"
import { exportLine } from "../../import/export-line.js"
import { createLog } from "../../logging/logger.js"
import { bulk, bulkNames } from "../../store/sql/index.js"
import { bulkTimeoutMs, withStartError } from "./import-source.js"
import type { CommandOutput } from "./output.js"
import { requireTenant } from "./with-store.js"

/** `authwire export`: prints all data of a tenant, as one JSON object per line. Throws StartError. */
export async function exportTenant(
  configuration: Configuration<"export">,
  { print }: CommandOutput,
): Promise<undefined> {
  const complete = withDevSecret(configuration)
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openMigratedDatabase({ ...complete, databaseStatementTimeoutMs: bulkTimeoutMs }, log)
  try {
    await requireTenant(database, configuration.tenant)
    const tables = bulk(database, { tenant: configuration.tenant, encryptionKeys: encryptionKeys(complete) })
    await withStartError("export", async () => {
      for (const name of bulkNames) {
        for await (const rows of tables[name].pages()) {
          const lines = rows.map((row) => exportLine(name, row, configuration.withSecrets))
          // Waits for a slow reader. Otherwise unread output would accumulate in memory.
          await print(lines.join(""))
        }
      }
    })
  } finally {
    await database.close()
  }
}
