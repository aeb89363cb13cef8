import { applyMigrations, type Database, migrationStatus, revertLastMigration } from "../../store/sql/index.js"
import type { Configuration } from "../config/configuration.js"
import { ConfigurationError } from "../config/error.js"
import { causeOf, openConfiguredDatabase } from "../../bootstrap/database.js"
import { createLog } from "../../bootstrap/logger.js"
import { StartError } from "../../bootstrap/start-error.js"

/** `authwire migrate up|down|status`. Throws ConfigurationError, and StartError when the database cannot be reached. */
export async function migrate(
  configuration: Configuration,
  args: readonly string[],
  io: { print: (text: string) => void },
): Promise<void> {
  const [action] = args
  if (args.length !== 1 || (action !== "up" && action !== "down" && action !== "status")) {
    throw new ConfigurationError("migrate: must be one of up, down, status")
  }
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openConfiguredDatabase(configuration, log)
  try {
    return await run(action, database, io)
  } catch (error) {
    throw new StartError(`migrate ${action}: ${causeOf(error)}`, { cause: error })
  } finally {
    await database.close()
  }
}

async function run(action: "up" | "down" | "status", database: Database, io: { print: (text: string) => void }) {
  if (action === "up") {
    const names = await applyMigrations(database)
    io.print(names.length === 0 ? "nothing is pending\n" : names.map((name) => `applied ${name}\n`).join(""))
  } else if (action === "down") {
    const name = await revertLastMigration(database)
    io.print(name === undefined ? "nothing is applied\n" : `taken back ${name}\n`)
  } else {
    for (const { name, applied, known } of await migrationStatus(database)) {
      io.print(`${known ? (applied ? "applied" : "pending") : "unknown"} ${name}\n`)
    }
  }
}
