import type { Store } from "../store.js"
import { accountStore } from "./accounts/accounts.js"
import { tokenRefreshStore } from "./accounts/token-refreshes.js"
import { apiKeyStore } from "./api-keys.js"
import { authenticatorStore } from "./authenticators.js"
import { cacheStore } from "./caches.js"
import { createCipher } from "./cipher.js"
import { urlsOfHosts } from "./cluster/hosts.js"
import type { MemberEvent } from "./cluster/members.js"
import { type Database, database } from "./database.js"
import type { SqlEngine } from "./engine/engine.js"
import type { Observation } from "./engine/observer.js"
import { storeError } from "./engine/statement-error.js"
import { type DatabaseLocation, parseDatabaseUrl } from "./engine/url.js"
import { eventCursors } from "./events/event-cursors.js"
import { eventRows } from "./events/event-rows.js"
import { eventStore } from "./events/events.js"
import { expiredStore } from "./expired.js"
import { idempotencyStore } from "./idempotency-keys.js"
import { leaseStore } from "./leases.js"
import { pageTokens } from "./query/page-tokens.js"
import { sessionStore } from "./sessions/sessions.js"
import { tenantStore } from "./tenants.js"
import type { RetryEvent } from "./transaction/retry.js"
import { provisionalUsers } from "./users/provisional-users.js"
import { userStore } from "./users/users.js"
import { verificationTokenStore } from "./verification-tokens.js"

export interface SqlDatabaseOptions extends Observation {
  /**
   * `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, `postgres://…`, `sqlite:PATH` or `sqlite::memory:`; see parseDatabaseUrl. Of
   * several hosts of MySQL or MariaDB, HOST:PORT,HOST:PORT, or a name with several addresses, the one that takes writes is
   * used, and left when it takes none any more.
   */
  url: string
  /** Of the same form: a server for reads of what may be somewhat older. Default: all is read where it is written. */
  readUrl?: string | undefined
  /** How many calls may use the database at the same time, each on a connection of its own. SQLite has one. Default 10. */
  poolSize?: number | undefined
  /** How many further calls may wait for their turn; beyond it a call fails with QUEUE_FULL at once. Default 1000. */
  queueLimit?: number | undefined
  /** How long a statement may take, in milliseconds. On SQLite it has no effect. Default 5000. */
  statementTimeoutMs?: number | undefined
  /**
   * How long making a connection may take, in milliseconds, and, of MySQL and MariaDB, how long finding out whether the name of
   * the host has several addresses may. On SQLite it has no effect. Default 5000.
   */
  connectTimeoutMs?: number | undefined
  /** From 0 to 1, 1 excluded: spreads the delays of retries. Default Math.random. */
  random?: (() => number) | undefined
  /** Called before a write that conflicted with others is tried again. */
  onRetry?: ((event: RetryEvent) => void) | undefined
  /** Called when another member of the cluster is written to, and when none is. */
  onMember?: ((event: MemberEvent) => void) | undefined
}

export interface SqlStoreOptions extends SqlDatabaseOptions {
  /**
   * What encrypts the tokens of providers and the answers that are kept: keys of 32 bytes each, of which the first encrypts
   * and all decrypt.
   */
  encryptionKeys: readonly Buffer[]
  /**
   * The time, in milliseconds since 1970-01-01T00:00:00Z: it decides which sessions have expired, and says when
   * something was created or written. Default Date.now.
   */
  clock?: (() => number) | undefined
  /** How long a user is provisional whose sign-up goes no further, in milliseconds (see UserStore.create). Default 0: never. */
  provisionalMs?: number | undefined
  /** How long events are kept, in milliseconds. Default 0: writes add none. */
  eventsKeepMs?: number | undefined
}

/** A store, and the database that it is in. */
export interface SqlStore extends Store {
  readonly database: Database
}

/**
 * Opens a store in MySQL 8.4 or later, MariaDB 10.11 or later, PostgreSQL 15 or later, or SQLite. Its tables must be there
 * before it is used: `applyMigrations(store.database)`. Throws a TypeError when the URL is wrong, and DATABASE_UNAVAILABLE
 * when the database does not answer; once open, the store outlives any outage of the database.
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  return sqlStore(await openDatabase(options), options)
}

/** Makes a store in an open database. Closing the store closes the database. */
export function sqlStore(
  database: Database,
  {
    encryptionKeys,
    clock = Date.now,
    provisionalMs = 0,
    eventsKeepMs = 0,
  }: Omit<SqlStoreOptions, keyof SqlDatabaseOptions>,
): SqlStore {
  const tokens = pageTokens(encryptionKeys)
  const cipher = createCipher(encryptionKeys)
  const areKept = eventsKeepMs > 0
  const eventOf = eventRows(database, { clock, areKept })
  const provisional = provisionalUsers(database, { clock, ms: provisionalMs, eventOf })
  return {
    database,
    users: userStore(database, { tokens, clock, provisional, eventOf }),
    accounts: accountStore(database, { cipher, tokens, clock, provisional, eventOf }),
    tokenRefreshes: tokenRefreshStore(database, { cipher, encryptionKeys, clock, eventOf }),
    sessions: sessionStore(database, { tokens, clock, provisional, eventOf }),
    verificationTokens: verificationTokenStore(database, eventOf),
    authenticators: authenticatorStore(database, { clock, provisional, eventOf }),
    tenants: tenantStore(database),
    apiKeys: apiKeyStore(database),
    ...idempotencyStore(database, cipher, clock),
    events: { ...eventStore(database, { areKept }), ...eventCursors(encryptionKeys) },
    caches: cacheStore(database),
    leases: leaseStore(database),
    expired: expiredStore(database, { eventsKeepMs }),
    ping: database.ping,
    close: database.close,
  }
}

/** Opens a database without a look at its tables, as migrations need it. Throws like openSqlStore. */
export async function openDatabase(options: SqlDatabaseOptions): Promise<Database> {
  const { queueLimit = 1000, random = Math.random, onRetry, observer, tracer } = options
  try {
    // The URLs are read before anything is opened.
    const places = locationsOf(options.url)
    const readPlaces = options.readUrl === undefined ? undefined : serversOf(locationsOf(options.readUrl))
    const writer = await openEngine(places, options)
    const older = { ...limitsOf(options), freshness: "older" } as const
    const reader = readPlaces && (await (await import("./cluster/open.js")).openReader(readPlaces, writer, older))
    return database(writer, { queueLimit, random, onRetry, reader, observer, tracer })
  } catch (error) {
    throw storeError(error)
  }
}

function locationsOf(url: string): DatabaseLocation[] {
  return urlsOfHosts(url).map(parseDatabaseUrl)
}

function serversOf(locations: readonly DatabaseLocation[]) {
  return locations.filter((location) => location.kind === "server")
}

/** Loads the driver of one kind of database, and not those of the others. */
async function openEngine(locations: readonly DatabaseLocation[], options: SqlDatabaseOptions): Promise<SqlEngine> {
  const [first] = locations
  if (first?.kind === "sqlite") {
    const { openSqliteEngine } = await import("./engine/sqlite.js")
    return openSqliteEngine(first.path)
  }
  if (first?.kind === "postgres") {
    const { openPostgresEngine } = await import("./engine/postgres/postgres.js")
    return openPostgresEngine(first, limitsOf(options))
  }
  const { openWriter } = await import("./cluster/open.js")
  return openWriter(serversOf(locations), { ...limitsOf(options), freshness: "fresh", onChange: options.onMember })
}

function limitsOf({ poolSize = 10, statementTimeoutMs = 5000, connectTimeoutMs = 5000 }: SqlDatabaseOptions) {
  return { poolSize, statementTimeoutMs, connectTimeoutMs }
}
