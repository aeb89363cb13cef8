import type { Logger } from "pino"
import { type DatabaseConfiguration, openMigratedDatabase } from "../../bootstrap/database.js"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { refusalOf } from "../../errors/refusal.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import { type Database, homeOf, tenantStore, unreadableTexts } from "../../store/sql/index.js"
import type { Tenant } from "../../store/types.js"

/** Opens the migrated database for a task. Throws StartError: that of a task has `what` before it, then `advice`. */
export async function withDatabase<T>(
  configuration: DatabaseConfiguration,
  work: (database: Database, log: Logger) => Promise<T>,
  { what = "the database", advice = "" } = {},
): Promise<T> {
  const log = createLog(configuration)
  const database = await openMigratedDatabase(configuration, log)
  try {
    return await withStartError(what, () => work(database, log), advice)
  } finally {
    await database.close()
  }
}

/**
 * Runs work that may fail for an external reason, and converts such an error into a StartError with one line.
 *
 * @param option The option that names the database. Default `--database-url`.
 */
export async function withStartError<T>(
  what: string,
  work: () => Promise<T>,
  advice = "",
  option?: string,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConfigurationError || error instanceof StartError) throw error
    throw new StartError(`${what}: ${refusalOf(error, { option })}${advice}`, { cause: error })
  }
}

/** Returns the tenant of this name, also one that is being deleted. Throws StartError. */
export async function findTenant(database: Database, name: string): Promise<Tenant | undefined> {
  const all = await withStartError("the database", () => tenantStore(database).list({}))
  return all.find((tenant) => tenant.name === name)
}

/** Returns the database that has the rows of a tenant. Throws StartError if there is no such tenant, or it is being deleted. */
export async function requireTenant(database: Database, name: string): Promise<Database> {
  const tenant = await findTenant(database, name)
  if (tenant === undefined)
    throw new StartError(`there is no tenant ${name}: create it with: authwire tenants create ${name}`)
  if (tenant.deleted !== undefined) throw new StartError(beingDeleted(name))
  return homeOf(database, name)
}

export const beingDeleted = (name: string) =>
  `the tenant ${name} is being deleted; if that has ended early, run it again: authwire tenants delete ${name}`

/** Throws StartError if the driver cannot read some text of the database. Reads every row of SQLite. */
export async function requireReadableTexts(database: Database, option = "--database-url"): Promise<void> {
  for await (const { table, column, rowid } of unreadableTexts(database)) {
    throw new StartError(`${option}: ${table}.${column} is not UTF-8, or has U+0000, at rowid ${rowid}`)
  }
}
