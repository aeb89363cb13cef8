import type { Logger } from "pino"
import { type DatabaseConfiguration, openMigratedDatabase } from "../../bootstrap/database.js"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { refusalOf } from "../../errors/refusal.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import { type Database, tenantStore, unreadableTexts } from "../../store/sql/index.js"

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

/** Returns whether the database has a tenant of this name. Throws StartError. */
export async function hasTenant(database: Database, tenant: string): Promise<boolean> {
  const all = await withStartError("the database", () => tenantStore(database).list({}))
  return all.some(({ name }) => name === tenant)
}

/** Throws StartError if the database has no tenant of this name. */
export async function requireTenant(database: Database, tenant: string): Promise<void> {
  if (await hasTenant(database, tenant)) return
  throw new StartError(`there is no tenant ${tenant}: create it with: authwire tenants create ${tenant}`)
}

/** Throws StartError if the driver cannot read some text of the database. Reads every row of SQLite. */
export async function requireReadableTexts(database: Database, option = "--database-url"): Promise<void> {
  for await (const { table, column, rowid } of unreadableTexts(database)) {
    throw new StartError(`${option}: ${table}.${column} is not UTF-8, or has U+0000, at rowid ${rowid}`)
  }
}
