import { dirname } from "node:path"
import type { Logger } from "pino"
import type { Configuration } from "../config/configuration.js"
import { refusalOf } from "../errors/refusal.js"
import { StartError } from "../errors/start-error.js"
import {
  applyMigrations,
  type Database,
  keyFromSecret,
  migrationStatus,
  openDatabase,
  parseDatabaseUrl,
  sqlStore,
  type UnreadableRowEvent,
  urlsOfHosts,
} from "../store/sql/index.js"
import type { Store } from "../store/store.js"
import { queueLimitOf } from "../util/shared-limits.js"
import { passwordReader } from "./database-password.js"
import { makeFolder } from "./dev-folder.js"
import type { Instruments } from "./instruments.js"

/** The configuration for opening the database. If a command lacks an option, the default of the store applies. */
export type DatabaseConfiguration = Configuration<"migrate up"> &
  Partial<
    Pick<
      Configuration,
      "migrate" | "databaseReadUrl" | "databasePoolSize" | "maxActiveCalls" | "databaseStatementTimeoutMs"
    >
  > & {
    /** Whether the command only reads the database. A file is then neither created nor changed, and nothing is migrated. */
    readOnly?: boolean
  }

/** Opens the configured database. Throws StartError if it cannot be reached. */
export async function openConfiguredDatabase(
  configuration: DatabaseConfiguration,
  log: Logger,
  instruments?: Instruments,
): Promise<Database> {
  const { databaseUrl, maxActiveCalls, readOnly = false } = configuration
  const metrics = instruments?.metrics?.store
  const logUnreadable = unreadableRows(log)
  try {
    const locations = urlsOfHosts(databaseUrl).map(parseDatabaseUrl)
    const [first] = locations
    if (configuration.dev && !readOnly && first?.kind === "sqlite") makeFolder(dirname(first.path))
    const database = await openDatabase({
      url: databaseUrl,
      readUrl: configuration.databaseReadUrl,
      readPassword: passwordReader(configuration),
      poolSize: configuration.databasePoolSize,
      queueLimit: maxActiveCalls === undefined ? undefined : queueLimitOf(maxActiveCalls),
      statementTimeoutMs: configuration.databaseStatementTimeoutMs,
      connectTimeoutMs: configuration.databaseConnectTimeoutMs,
      readOnly,
      onRetry(event) {
        metrics?.retried(event)
        log.debug(event, "a write conflicted with other writes: retrying")
      },
      onUnreadable(row) {
        metrics?.skipped(row)
        logUnreadable(row)
      },
      onMember({ member, reasons }) {
        if (member === undefined) log.warn("the database member accepts no writes any more: looking for another one")
        else log.info({ member, reasons }, "this database member accepts writes: using it")
      },
      onServerLimit(event) {
        log.warn(event, "the database refuses further connections: calls wait for those that this process has")
      },
      observer: metrics,
      tracer: instruments?.tracing?.tracer,
    })
    metrics?.watch(database.load)
    const parameters = [...new Set(locations.flatMap(({ ignored }) => ignored))]
    if (parameters.length > 0) log.warn({ parameters }, "these parameters of --database-url have no effect")
    return database
  } catch (error) {
    if (error instanceof StartError) throw error
    throw openingError(databaseUrl, error)
  }
}

/** Returns the error of a database that could not be opened: why, and what to do about it. */
export function openingError(databaseUrl: string, error: unknown): StartError {
  const cause = refusalOf(error, {
    otherwise: "is the database running, and is --database-url correct?",
    quotes: !isSplit(databaseUrl),
  })
  return new StartError(`cannot open the database at ${withoutSecrets(databaseUrl)}: ${cause}`, { cause: error })
}

/** Whether a password that is not escaped may have become the name of the host or the database, which messages repeat. */
function isSplit(databaseUrl: string): boolean {
  return /^\w+:\/\/[^/?#]*[/?#].*@/s.test(databaseUrl)
}

/** The most rows of which the log says that they cannot be read. The metric counts all. */
const maxUnreadable = 1000

/** Returns what logs each row that cannot be read once. */
function unreadableRows(log: Logger) {
  const logged = new Set<string>()
  return (row: UnreadableRowEvent) => {
    const name = JSON.stringify(row)
    if (logged.has(name) || logged.size === maxUnreadable) return
    logged.add(name)
    log.error(row, "a row of the database cannot be read, and is left out of lists")
  }
}

/** Opens the database, and migrates it if configured. Throws StartError, also if migrations are pending. */
export async function openMigratedDatabase(
  configuration: DatabaseConfiguration,
  log: Logger,
  instruments?: Instruments,
): Promise<Database> {
  const database = await openConfiguredDatabase(configuration, log, instruments)
  const migrates = !configuration.readOnly && (configuration.dev || configuration.migrate === true)
  try {
    if (migrates) {
      for (const name of await applyMigrations(database)) log.info({ migration: name }, "migration applied")
    }
    const migrations = await migrationStatus(database)
    const unknown = migrations.filter(({ known }) => !known).map(({ name }) => name)
    if (unknown.length > 0) log.warn({ unknown }, "the database has migrations of a newer version of Authwire")
    if (!migrates) {
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
    throw new StartError(`cannot check or apply the migrations of the database: ${refusalOf(error)}`, { cause: error })
  }
}

/** Returns the store of an open database, whose migrations must be applied. */
export function storeOf(database: Database, configuration: Configuration): Store {
  return sqlStore(database, {
    encryptionKeys: encryptionKeys(configuration),
    provisionalMs: configuration.provisionalSignUp,
    eventsKeepMs: configuration.eventsKeep,
    auditKeepMs: configuration.auditKeep,
  })
}

/** Returns the keys that encrypt stored data: the configured ones, else one derived from each secret. */
export function encryptionKeys({
  encryptionKeys: given = [],
  secrets,
}: Pick<Configuration<"rekey">, "encryptionKeys" | "secrets">): Buffer[] {
  return given.length > 0 ? given.map((key) => Buffer.from(key, "base64")) : secrets.map(keyFromSecret)
}

/** Returns a database URL without its password and parameters, so that it can be shown. */
function withoutSecrets(databaseUrl: string): string {
  if (databaseUrl.startsWith("sqlite:")) return databaseUrl
  // The password is removed up to the last @ first, because an unescaped password may contain any character.
  return databaseUrl.replace(/^(\w+:\/\/[^/:@]*):.*@/s, "$1@").replace(/\?.*$/s, "")
}
