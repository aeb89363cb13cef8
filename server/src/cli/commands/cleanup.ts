import { cleanupRound } from "../../cleanup/cleaner.js"
import { expiredStore } from "../../store/sql/index.js"
import type { Work } from "./output.js"
import { withDatabase } from "./with-database.js"

/**
 * `authwire cleanup`: deletes expired rows once, for example in a cron job instead of `--cleanup-interval`. It takes no
 * lease, because concurrent runs skip each other's rows. Throws StartError if the database cannot be reached.
 */
export const cleanup: Work<"cleanup"> = async (configuration, { print }) => {
  const total = new Map<string, number>()
  await withDatabase(
    configuration,
    async (database) => {
      const { eventsKeep: eventsKeepMs, auditKeep: auditKeepMs } = configuration
      const expired = expiredStore(database, { eventsKeepMs, auditKeepMs })
      for (const { table } of expired.tables) total.set(table, 0)
      await cleanupRound(expired, {
        keepMs: configuration.olderThan,
        limit: configuration.batch,
        onBatch: (table, count) => total.set(table, (total.get(table) ?? 0) + count),
      })
    },
    { what: "cleanup", advice: "; rows that were deleted stay deleted, and the command can be run again" },
  )
  for (const [table, count] of total) print(`${table}: ${count} deleted\n`)
}
