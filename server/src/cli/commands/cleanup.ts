import { causeOf, openMigratedDatabase } from "../../bootstrap/database.js"
import { cleanupRound } from "../../cleanup/round.js"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import { expiredStore } from "../../store/sql/index.js"
import type { CommandOutput } from "./output.js"

/**
 * `authwire cleanup`: deletes expired rows once, for example in a cron job instead of `--cleanup-interval`. It takes no
 * lease, because concurrent runs skip each other's rows. Throws StartError if the database cannot be reached.
 */
export async function cleanup(configuration: Configuration<"cleanup">, { print }: CommandOutput): Promise<undefined> {
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openMigratedDatabase(configuration, log)
  const expired = expiredStore(database, { eventsKeepMs: configuration.eventsKeep })
  const total = new Map(expired.tables.map(({ table }) => [table, 0]))
  try {
    await cleanupRound(expired, {
      keepMs: configuration.olderThan,
      limit: configuration.batch,
      onBatch: (table, count) => total.set(table, (total.get(table) ?? 0) + count),
    })
  } catch (error) {
    throw new StartError(
      `cleanup: ${causeOf(error)}; rows that were deleted stay deleted, and the command can be run again`,
      {
        cause: error,
      },
    )
  } finally {
    await database.close()
  }
  for (const [table, count] of total) print(`${table}: ${count} deleted\n`)
}
