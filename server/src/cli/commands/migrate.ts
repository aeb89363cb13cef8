import { causeOf, openConfiguredDatabase } from "../../bootstrap/database.js"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import {
  applyMigrations,
  type Compatibility,
  type Database,
  migrationStatus,
  revertLastMigration,
} from "../../store/sql/index.js"
import type { CommandOutput } from "./output.js"

type Direction = "up" | "down" | "status"

type MigrateConfiguration = Configuration<`migrate ${Direction}`>

/** `authwire migrate up`. Throws StartError if the database cannot be reached, as the other two commands do. */
export const migrateUp = (configuration: MigrateConfiguration, output: CommandOutput) =>
  migrate("up", configuration, output)

/** `authwire migrate down`. */
export const migrateDown = (configuration: MigrateConfiguration, output: CommandOutput) =>
  migrate("down", configuration, output)

/** `authwire migrate status`. */
export const migrationsOf = (configuration: MigrateConfiguration, output: CommandOutput) =>
  migrate("status", configuration, output)

async function migrate(
  direction: Direction,
  configuration: MigrateConfiguration,
  output: CommandOutput,
): Promise<undefined> {
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openConfiguredDatabase(configuration, log)
  try {
    await run(direction, database, output)
  } catch (error) {
    throw new StartError(`migrate ${direction}: ${causeOf(error)}`, { cause: error })
  } finally {
    await database.close()
  }
}

async function run(direction: Direction, database: Database, { print }: CommandOutput): Promise<void> {
  if (direction === "up") {
    const names = await applyMigrations(database)
    print(names.length === 0 ? "nothing is pending\n" : names.map((name) => `applied ${name}\n`).join(""))
  } else if (direction === "down") {
    const name = await revertLastMigration(database)
    print(name === undefined ? "nothing is applied\n" : `reverted ${name}\n`)
  } else {
    for (const { name, applied, known, previousVersion } of await migrationStatus(database)) {
      print(`${known ? (applied ? "applied" : "pending") : "unknown"} ${name}\n`)
      if (!applied && previousVersion !== undefined) print(`  ${effectOf(previousVersion)}\n`)
    }
  }
}

/** Describes the effect of a pending migration on replicas of the previous version. */
function effectOf({ compatible, reason }: Compatibility): string {
  return compatible
    ? `the previous version can run on it: yes, because ${reason}`
    : `the previous version can run on it: no, because ${reason}; stop its replicas first`
}
