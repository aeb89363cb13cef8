import { afterAll, beforeAll } from "@jest/globals"
import { type DatabaseTarget, databaseTargets } from "../databases/databases.js"
import { type Authwire, startAuthwire } from "./authwire.js"

/**
 * Starts a service on each of the databases, by default on each server of this run except sqlite, before the tests of
 * the block, all at the same time, and stops them afterwards. Returns a function that returns the service of a database.
 */
export function useAuthwires(
  args: string[] = [],
  targets: readonly DatabaseTarget[] = databaseTargets().filter((target) => target !== "sqlite"),
): (target: DatabaseTarget) => Authwire {
  const started = new Map<DatabaseTarget, Authwire>()
  beforeAll(async () => {
    await Promise.all(targets.map(async (target) => started.set(target, await startAuthwire(target, args))))
  })
  afterAll(() => Promise.all([...started.values()].map((authwire) => authwire.close())))
  return (target) => started.get(target) as Authwire
}
