import type { Store } from "../store.js"
import { accountStore } from "./accounts/accounts.js"
import { tokenRefreshStore } from "./accounts/token-refreshes.js"
import { apiKeyPages, apiKeyStore } from "./api-keys.js"
import { auditStore } from "./audit-entries.js"
import { authenticatorStore } from "./authenticators.js"
import { cacheStore } from "./caches.js"
import { createCipher } from "./cipher.js"
import { urlsOfHosts } from "./cluster/hosts.js"
import type { MemberEvent } from "./cluster/members.js"
import { type Database, database } from "./database.js"
import type { SqlEngine } from "./engine/engine.js"
import type { Observation } from "./engine/observer.js"
import type { ServerLimitEvent } from "./engine/server-limit.js"
import { withOfferedTls } from "./engine/url/offered-tls.js"
import { type DatabaseLocation, parseDatabaseUrl } from "./engine/url/url.js"
import { eventCursors } from "./events/event-cursors.js"
import { eventRows } from "./events/event-rows.js"
import { eventStore } from "./events/events.js"
import { expiredStore } from "./expired.js"
import { idempotencyStore } from "./idempotency-keys.js"
import { leaseStore } from "./leases.js"
import { storeError } from "./query/statement-error.js"
import type { OnUnreadable } from "./schema/row-reader.js"
import { sessionPolicyStore } from "./sessions/session-policies.js"
import { sessionRevocations } from "./sessions/session-revocations.js"
import { sessionStore } from "./sessions/sessions.js"
import { shardedStore } from "./shards/sharded-store.js"
import { tenantsOf } from "./shards/tenants.js"
import { signalStore } from "./signals.js"
import { signingKeyStore } from "./signing-keys.js"
import { tenantPages } from "./tenants.js"
import type { RetryEvent } from "./transaction/retry.js"
import { provisionalUsers } from "./users/provisional-users.js"
import { userStore } from "./users/users.js"
import { verificationTokenStore } from "./verification-tokens.js"
import { pageTokens } from "./walks/page-tokens.js"
import { webhookDeliveryRows } from "./webhooks/deliveries.js"
import { webhookRows } from "./webhooks/webhooks.js"

/** A database server to which a connection is made, and the user. */
export interface DatabaseServer {
  host: string
  port: number
  username: string | undefined
}

export interface SqlDatabaseOptions extends Observation {
  /**
   * `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, `postgres://…`, `sqlite:PATH` or `sqlite::memory:`; see
   * parseDatabaseUrl. MySQL and MariaDB may have several hosts, HOST:PORT,HOST:PORT, or a name with several addresses.
   * Then the store uses the one that accepts writes, and changes to another one when it no longer does.
   */
  url: string
  /**
   * The URL of a server, in the same form, for reads that may return somewhat older data. Default: all reads use `url`.
   */
  readUrl?: string | undefined
  /**
   * Returns the password of each new connection to a server, in place of that of the URL. It must end by itself.
   */
  readPassword?: ((server: DatabaseServer) => Promise<string>) | undefined
  /**
   * The number of calls that may use the database at the same time, each on its own connection. SQLite has one. Default
   * 10.
   */
  poolSize?: number | undefined
  /** The number of further calls that may wait. Beyond it a call fails with QUEUE_FULL at once. Default 1000. */
  queueLimit?: number | undefined
  /** The timeout of a statement, in milliseconds. It has no effect on SQLite. Default 5000. */
  statementTimeoutMs?: number | undefined
  /**
   * The timeout for making a connection, in milliseconds. On MySQL and MariaDB it also limits the lookup of the host's
   * addresses. It has no effect on SQLite. Default 5000.
   */
  connectTimeoutMs?: number | undefined
  /**
   * Whether the database is only read. Then SQLite rejects writes, and does not turn on the write-ahead log of a file.
   * It has no effect on servers. Default false.
   */
  readOnly?: boolean | undefined
  /** Returns a number from 0 to 1, 1 excluded, that randomizes the delays of retries. Default Math.random. */
  random?: (() => number) | undefined
  /**
   * How long a write is retried for a lock, if its caller has no deadline, or for another member of a cluster, in
   * milliseconds. Default 10,000.
   */
  longestWaitMs?: number | undefined
  /** Called before a retry of a write that conflicted with other transactions. */
  onRetry?: ((event: RetryEvent) => void) | undefined
  /** Called for each row that was left out of a list, because it cannot be read. */
  onUnreadable?: OnUnreadable | undefined
  /** Called when another member of the cluster becomes the one for writes, and when none is. */
  onMember?: ((event: MemberEvent) => void) | undefined
  /** Called when the server refuses a further connection of the pool, once for as long as it does. */
  onServerLimit?: ((event: ServerLimitEvent) => void) | undefined
}

export interface SqlStoreOptions extends SqlDatabaseOptions {
  /**
   * The keys that encrypt provider tokens, private properties and stored answers, 32 bytes each. The first one encrypts and
   * all of them decrypt.
   */
  encryptionKeys: readonly Buffer[]
  /**
   * Returns the time, in milliseconds since 1970-01-01T00:00:00Z. It decides which sessions have expired and when rows
   * were created or written. Default: the time of the database's clock, see Store.now.
   */
  clock?: (() => number) | undefined
  /**
   * How long a user with an incomplete sign-up is provisional, in milliseconds (see UserStore.create). Default 0:
   * never.
   */
  provisionalMs?: number | undefined
  /** How long events are kept, in milliseconds. Default 0: writes add no events. */
  eventsKeepMs?: number | undefined
  /** How long audit entries are kept, in milliseconds. Default 0: until somebody deletes them. */
  auditKeepMs?: number | undefined
}

/** A store and its database. */
export interface SqlStore extends Store {
  readonly database: Database
}

/**
 * Opens a store in MySQL 8.4 or later, MariaDB 10.11 or later, PostgreSQL 15 or later, or SQLite. Its tables must exist
 * before it is used: `applyMigrations(store.database)`. Throws a TypeError if the URL is invalid, and
 * DATABASE_UNAVAILABLE if the database does not answer. An open store survives any outage of the database.
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  return sqlStore(await openDatabase(options), options)
}

/** Creates a store in an open database. Closing the store closes the database. */
export function sqlStore(database: Database, options: Omit<SqlStoreOptions, keyof SqlDatabaseOptions>): SqlStore {
  const storeOn = (one: Database) => storeOnOne(one, options)
  return database.shards === undefined
    ? storeOn(database)
    : shardedStore(database, { shards: database.shards, storeOn })
}

function storeOnOne(
  database: Database,
  {
    encryptionKeys,
    clock = database.now,
    provisionalMs = 0,
    eventsKeepMs = 0,
    auditKeepMs = 0,
  }: Omit<SqlStoreOptions, keyof SqlDatabaseOptions>,
): SqlStore {
  const tokens = pageTokens(encryptionKeys)
  const cipher = createCipher(encryptionKeys)
  const isEnabled = eventsKeepMs > 0
  const eventOf = eventRows(database, { clock, isEnabled })
  const provisional = provisionalUsers(database, { clock, ms: provisionalMs, eventOf })
  const revocations = sessionRevocations(database, eventOf)
  const events = eventStore(database, { isEnabled })
  return {
    database,
    users: userStore(database, { cipher, tokens, clock, provisional, eventOf, revocations }),
    accounts: accountStore(database, { cipher, tokens, clock, provisional, eventOf, revocations }),
    tokenRefreshes: tokenRefreshStore(database, { cipher, encryptionKeys, clock, eventOf }),
    sessions: sessionStore(database, { tokens, clock, eventOf, revocations }),
    sessionPolicies: sessionPolicyStore(database, eventOf),
    signals: signalStore(database, { clock, eventOf }),
    verificationTokens: verificationTokenStore(database, eventOf),
    authenticators: authenticatorStore(database, { tokens, clock, provisional, eventOf }),
    tenants: { ...tenantsOf(database), page: tenantPages(database, tokens) },
    apiKeys: { ...apiKeyStore(database), page: apiKeyPages(database, tokens) },
    ...idempotencyStore(database, cipher, clock),
    events: { ...events, ...eventCursors(encryptionKeys) },
    audit: auditStore(database, tokens),
    caches: cacheStore(database),
    leases: leaseStore(database),
    signingKeys: signingKeyStore(database, cipher),
    webhooks: {
      ...webhookRows(database, { cipher, tokens, clock, history: events.history }),
      ...webhookDeliveryRows(database, { tokens, clock }),
    },
    expired: expiredStore(database, { eventsKeepMs, auditKeepMs }),
    now: clock,
    clockOffsetMs: database.clockOffsetMs,
    ping: database.ping,
    turn: database.turn,
    close: database.close,
  }
}

/** Opens a database without checking its tables, for migrations. Throws like openSqlStore. */
export async function openDatabase(options: SqlDatabaseOptions): Promise<Database> {
  try {
    // The URLs are parsed before any connection is opened.
    const [urls, readUrls] = [
      locationsOf(options.url, options),
      options.readUrl && locationsOf(options.readUrl, options),
    ]
    const locations = await offered(urls, options)
    const readLocations = readUrls ? serversOf(await offered(readUrls, options)) : undefined
    const writer = await openEngine(locations, options)
    if (!writer.isSharded) return await openOn(writer, readLocations, options)
    const { openSharded } = await import("./shards/shards.js")
    const named = serversOf(locations)
    return await openSharded(named[0]?.database ?? "", writer, async (name) =>
      openOn(await openEngine(withName(named, name), options), readLocations && withName(readLocations, name), options),
    )
  } catch (error) {
    throw storeError(error)
  }
}

type Servers = ReturnType<typeof serversOf>

/** Returns the locations of another database of the same servers. The type of a tablet, such as `@replica`, stays. */
function withName(locations: Servers, name: string): Servers {
  return locations.map((one) => ({ ...one, database: name + (/@\w+$/.exec(one.database)?.[0] ?? "") }))
}

async function openOn(
  writer: SqlEngine,
  readLocations: Servers | undefined,
  options: SqlDatabaseOptions,
): Promise<Database> {
  const { queueLimit = 1000, random = Math.random, longestWaitMs, onRetry, onUnreadable, onServerLimit } = options
  const { observer, tracer } = options
  const older = { ...limitsOf(options), freshness: "older" } as const
  const reader = readLocations && (await (await import("./cluster/open.js")).openReader(readLocations, writer, older))
  const calledBack = { onRetry, onUnreadable, onServerLimit, observer, tracer }
  return database(writer, { queueLimit, random, longestWaitMs, reader, ...calledBack })
}

function locationsOf(url: string, { readPassword }: SqlDatabaseOptions): DatabaseLocation[] {
  return urlsOfHosts(url).map((one) => {
    const location = parseDatabaseUrl(one)
    if (location.kind === "sqlite" || readPassword === undefined) return location
    const { host, port, username } = location
    return { ...location, readPassword: () => readPassword({ host, port, username }) }
  })
}

/** Decides which locations are encrypted whose URLs leave that to the server. */
function offered(locations: readonly DatabaseLocation[], options: SqlDatabaseOptions): Promise<DatabaseLocation[]> {
  const { connectTimeoutMs } = limitsOf(options)
  return Promise.all(locations.map((location) => withOfferedTls(location, connectTimeoutMs)))
}

function serversOf(locations: readonly DatabaseLocation[]) {
  return locations.filter((location) => location.kind === "server")
}

/** Loads only the driver of the database in use. */
async function openEngine(locations: readonly DatabaseLocation[], options: SqlDatabaseOptions): Promise<SqlEngine> {
  const [first] = locations
  if (first?.kind === "sqlite") {
    const { openSqliteEngine } = await import("./engine/sqlite.js")
    return openSqliteEngine(first.path, options)
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
