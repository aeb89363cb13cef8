import { causeOf, openMigratedDatabase } from "../../bootstrap/database.js"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import { StoreError } from "../../errors/store-error.js"
import { createLog } from "../../logging/logger.js"
import { apiKeyStore, type Database, tenantStore } from "../../store/sql/index.js"
import type { Store } from "../../store/store.js"

/** The part of the store that commands use. It has no tenant data, for which the encryption keys would be needed. */
type Administration = Pick<Store, "tenants" | "apiKeys">

/** Opens the store for one task of a command. The migrations must be applied. Throws StartError. */
export async function withStore<T>(
  configuration: Configuration<"keys list" | "tenants list">,
  work: (store: Administration) => Promise<T>,
): Promise<T> {
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openMigratedDatabase(configuration, log)
  try {
    return await work({ tenants: tenantStore(database), apiKeys: apiKeyStore(database) })
  } catch (error) {
    throw startErrorOf(error)
  } finally {
    await database.close()
  }
}

/** Throws StartError if the database has no tenant of this name. */
export async function requireTenant(database: Database, tenant: string): Promise<void> {
  try {
    const all = await tenantStore(database).list({})
    if (all.some(({ name }) => name === tenant)) return
  } catch (error) {
    throw startErrorOf(error)
  }
  throw new StartError(`there is no tenant ${tenant}: create it with: authwire tenants create ${tenant}`)
}

/** Converts an error of the store. Returns every other error unchanged. */
function startErrorOf(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error
  return new StartError(`the database: ${causeOf(error)}`, { cause: error })
}
