import { applyMigrations, migrationStatus, revertLastMigration } from "../store/sql/index.js"
import { type Configuration, ConfigurationError } from "./configuration.js"
import { openConfiguredDatabase } from "./database.js"
import { createLog } from "./log.js"

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
    if (action === "up") {
      const names = await applyMigrations(database)
      io.print(names.length === 0 ? "nothing is pending\n" : names.map((name) => `applied ${name}\n`).join(""))
    } else if (action === "down") {
      const name = await revertLastMigration(database)
      io.print(name === undefined ? "nothing is applied\n" : `taken back ${name}\n`)
    } else {
      for (const { name, applied } of await migrationStatus(database)) {
        io.print(`${applied ? "applied" : "pending"} ${name}\n`)
      }
    }
  } finally {
    await database.close()
  }
}
