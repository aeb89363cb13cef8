import type { Store } from "../store.js"
import { accountStore } from "./accounts.js"
import { apiKeyStore } from "./api-keys.js"
import { authenticatorStore } from "./authenticators.js"
import { createCipher } from "./cipher.js"
import { type Database, database } from "./database.js"
import { openServerDataSource, openSqliteDataSource } from "./engine/data-source.js"
import type { SqlEngine } from "./engine/engine.js"
import { mysqlEngine } from "./engine/mysql.js"
import { sqliteEngine } from "./engine/sqlite.js"
import { storeError } from "./engine/statement-error.js"
import { parseDatabaseUrl } from "./engine/url.js"
import { pageTokens } from "./page-tokens.js"
import type { RetryEvent } from "./query/retry.js"
import { sessionStore } from "./sessions.js"
import { tenantStore } from "./tenants.js"
import { userStore } from "./users.js"
import { verificationTokenStore } from "./verification-tokens.js"

export interface SqlDatabaseOptions {
  /** `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, `sqlite:PATH` or `sqlite::memory:`; see parseDatabaseUrl. */
  url: string
  /** How many calls may use the database at the same time, each on a connection of its own. SQLite has one. Default 10. */
  poolSize?: number | undefined
  /** How many further calls may wait for their turn; beyond it a call fails with QUEUE_FULL at once. Default 1000. */
  queueLimit?: number | undefined
  /** How long a statement may take, in milliseconds. On SQLite it has no effect. Default 5000. */
  statementTimeoutMs?: number | undefined
  /** How long making a connection may take, in milliseconds. On SQLite it has no effect. Default 5000. */
  connectTimeoutMs?: number | undefined
  /** From 0 to 1, 1 excluded: spreads the delays of retries. Default Math.random. */
  random?: (() => number) | undefined
  /** Called before a write that conflicted with others is tried again. */
  onRetry?: ((event: RetryEvent) => void) | undefined
}

export interface SqlStoreOptions extends SqlDatabaseOptions {
  /** What encrypts the tokens of providers: keys of 32 bytes each, of which the first encrypts and all decrypt. */
  encryptionKeys: readonly Buffer[]
  /**
   * The time, in milliseconds since 1970-01-01T00:00:00Z: it decides which sessions have expired, and when users were
   * created. Default Date.now.
   */
  clock?: (() => number) | undefined
}

/** A store, and the database that it is in. */
export interface SqlStore extends Store {
  readonly database: Database
}

/**
 * Opens a store in MySQL 8.4 or later, MariaDB 10.11 or later, or SQLite. Its tables must be there before it is used:
 * `applyMigrations(store.database)`. Throws a TypeError when the URL is wrong, and DATABASE_UNAVAILABLE when the
 * database does not answer; once open, the store outlives any outage of the database.
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  return sqlStore(await openDatabase(options), options)
}

/** Makes a store in an open database. Closing the store closes the database. */
export function sqlStore(
  database: Database,
  { encryptionKeys, clock = Date.now }: Pick<SqlStoreOptions, "encryptionKeys" | "clock">,
): SqlStore {
  const tokens = pageTokens(encryptionKeys)
  return {
    database,
    users: userStore(database, tokens, clock),
    accounts: accountStore(database, createCipher(encryptionKeys), tokens),
    sessions: sessionStore(database, clock),
    verificationTokens: verificationTokenStore(database),
    authenticators: authenticatorStore(database),
    tenants: tenantStore(database),
    apiKeys: apiKeyStore(database),
    ping: database.ping,
    close: database.close,
  }
}

/** Opens a database without a look at its tables, as migrations need it. Throws like openSqlStore. */
export async function openDatabase(options: SqlDatabaseOptions): Promise<Database> {
  const { queueLimit = 1000, random = Math.random, onRetry } = options
  return database(await openEngine(options), { queueLimit, random, onRetry })
}

async function openEngine(options: SqlDatabaseOptions): Promise<SqlEngine> {
  const { poolSize = 10, statementTimeoutMs = 5000, connectTimeoutMs = 5000 } = options
  const location = parseDatabaseUrl(options.url)
  try {
    if (location.kind === "sqlite") return sqliteEngine(await openSqliteDataSource(location.path))
    const dataSource = await openServerDataSource(location, { poolSize, connectTimeoutMs })
    const engine = mysqlEngine({ dataSource, poolSize, statementTimeoutMs })
    try {
      const first = await engine.connect()
      first.release()
    } catch (error) {
      await engine.close()
      throw error
    }
    return engine
  } catch (error) {
    throw storeError(error)
  }
}
