import { openConfiguredDatabase } from "../../bootstrap/database.js"
import { createLog } from "../../logging/logger.js"
import {
  applyMigrations,
  type Compatibility,
  type Database,
  migrationStatus,
  revertLastMigration,
} from "../../store/sql/index.js"
import type { CommandOutput, Work } from "./output.js"
import { withStartError } from "./with-database.js"

type Direction = "up" | "down" | "status"

/** Returns `authwire migrate`, in one of its directions. */
const migrate =
  (direction: Direction): Work<`migrate ${Direction}`> =>
  async (configuration, output) => {
    const readOnly = direction === "status"
    const database = await openConfiguredDatabase({ ...configuration, readOnly }, createLog(configuration))
    try {
      await withStartError(`migrate ${direction}`, () => run(direction, database, output))
    } finally {
      await database.close()
    }
  }

export const [up, down, status] = [migrate("up"), migrate("down"), migrate("status")]

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
  const effect = `the previous version can run on it: ${compatible ? "yes" : "no"}, because ${reason}`
  return compatible ? effect : `${effect}; stop its replicas first`
}
