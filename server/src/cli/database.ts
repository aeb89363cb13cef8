import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import type { Logger } from "pino"
import { StoreError } from "../store/error.js"
import {
  apiKeyStore,
  applyMigrations,
  type Database,
  keyFromSecret,
  migrationStatus,
  openDatabase,
  sqlStore,
  tenantStore,
} from "../store/sql/index.js"
import type { Store } from "../store/store.js"
import type { Configuration } from "./configuration.js"
import { withoutSecrets } from "./configuration-values.js"
import { createLog } from "./log.js"
import { StartError } from "./start-error.js"

/** Opens the configured database. Throws StartError when it cannot be reached. */
export async function openConfiguredDatabase(configuration: Configuration, log: Logger): Promise<Database> {
  const { databaseUrl } = configuration
  try {
    if (configuration.dev && databaseUrl.startsWith("sqlite:")) {
      mkdirSync(dirname(databaseUrl.slice("sqlite:".length)), { recursive: true, mode: 0o700 })
    }
    return await openDatabase({
      url: databaseUrl,
      poolSize: configuration.databasePoolSize,
      queueLimit: configuration.databaseQueueLimit,
      statementTimeoutMs: configuration.databaseStatementTimeoutMs,
      connectTimeoutMs: configuration.databaseConnectTimeoutMs,
      onRetry: (event) => log.debug(event, "a write conflicted with others: trying again"),
    })
  } catch (error) {
    const cause = causeOf(error)
    const advice =
      advices.find(([pattern]) => pattern.test(cause))?.[1] ?? "is it running, and is --database-url right?"
    throw new StartError(`cannot open the database at ${withoutSecrets(databaseUrl)} (${cause}): ${advice}`, {
      cause: error,
    })
  }
}

const advices: readonly (readonly [cause: RegExp, advice: string])[] = [
  [
    /ER_ACCESS_DENIED|ER_DBACCESS_DENIED/,
    "are user and password in --database-url right, and is the user granted the database?",
  ],
  [/ER_BAD_DB/, "create the database first, or mend --database-url"],
]

/** Opens the store, with pending migrations applied where the configuration says so. Throws StartError otherwise. */
export async function openMigratedStore(configuration: Configuration, log: Logger): Promise<Store> {
  const database = await openMigratedDatabase(configuration, log)
  return sqlStore(database, { encryptionKeys: encryptionKeys(configuration) })
}

/** Opens the database, as openMigratedStore does. */
export async function openMigratedDatabase(configuration: Configuration, log: Logger): Promise<Database> {
  const database = await openConfiguredDatabase(configuration, log)
  try {
    if (configuration.migrate) {
      for (const name of await applyMigrations(database)) log.info({ migration: name }, "migration applied")
    }
    const migrations = await migrationStatus(database)
    const unknown = migrations.filter(({ known }) => !known).map(({ name }) => name)
    if (unknown.length > 0) log.warn({ unknown }, "the database has migrations of a newer version than this one")
    if (!configuration.migrate) {
      const pending = migrations.filter(({ applied }) => !applied).length
      if (pending > 0) {
        const what = pending === 1 ? "1 migration is" : `${pending} migrations are`
        throw new StartError(`${what} pending: run 'authwire migrate up' first, or start with --migrate`)
      }
    }
    return database
  } catch (error) {
    await database.close()
    if (error instanceof StartError) throw error
    throw new StartError(`cannot bring the database's tables up to date: ${causeOf(error)}`, { cause: error })
  }
}

/** Opens the store as it is, where another process has seen to the migrations. Throws StartError. */
export async function openStore(configuration: Configuration, log: Logger): Promise<Store> {
  return sqlStore(await openConfiguredDatabase(configuration, log), { encryptionKeys: encryptionKeys(configuration) })
}

/** What encrypts what is stored: the keys that were given, else one derived from each secret. */
export function encryptionKeys({ encryptionKeys: given, secrets }: Configuration): Buffer[] {
  return given.length > 0 ? given.map((key) => Buffer.from(key, "base64")) : secrets.map(keyFromSecret)
}

/** What commands see of the store: nothing that belongs to a tenant, for which they would need its keys. */
type Administration = Pick<Store, "tenants" | "apiKeys">

/** Opens the store for one piece of work of a command, as openMigratedStore does. Throws StartError. */
export async function withStore<T>(
  configuration: Configuration,
  work: (store: Administration) => Promise<T>,
): Promise<T> {
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openMigratedDatabase(configuration, log)
  try {
    return await work({ tenants: tenantStore(database), apiKeys: apiKeyStore(database) })
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new StartError(`the database: ${causeOf(error)}`, { cause: error })
  } finally {
    await database.close()
  }
}

/** What went wrong at the bottom, in a word of the system or the database: ECONNREFUSED, ER_ACCESS_DENIED_ERROR. */
export function causeOf(error: unknown): string {
  let cause = error
  while (cause instanceof StoreError && cause.cause !== undefined) cause = cause.cause
  if (!(cause instanceof Error)) return String(cause)
  return "code" in cause && cause.code !== undefined ? String(cause.code) : (cause.message.split("\n", 1)[0] ?? "")
}
