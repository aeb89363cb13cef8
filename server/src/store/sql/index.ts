export { apiKeyStore } from "./api-keys.js"
export { addressBook } from "./bulk/addresses.js"
export { type Bulk, type BulkName, type BulkRows, bulk, bulkNames } from "./bulk/bulk.js"
export { type Holders, holders } from "./bulk/holders.js"
export { Unreadable } from "./bulk/table.js"
export { createCipher, keyFromSecret } from "./cipher.js"
export { databaseClock } from "./clock.js"
export { urlsOfHosts } from "./cluster/hosts.js"
export { type Database, withShards } from "./database.js"
export { connectionOptions } from "./engine/connection-options.js"
export type { DatabaseLoad, DatabaseObserver } from "./engine/observer.js"
export { clientConfig } from "./engine/postgres/client-config.js"
export { nodeSqlite } from "./engine/sqlite-driver.js"
export { withOfferedTls } from "./engine/url/offered-tls.js"
export {
  type DatabaseLocation,
  type PostgresLocation,
  parseDatabaseUrl,
  type ServerLocation,
} from "./engine/url/url.js"
export { eventStore } from "./events/events.js"
export { expiredStore } from "./expired.js"
export { examinedRows, lostRows, orphans, reportingProcesses } from "./inspection/lost-rows.js"
export { schemaFaults } from "./inspection/schema-faults.js"
export {
  type DatabaseServer,
  openDatabase,
  openSqlStore,
  type SqlStore,
  sqlStore,
} from "./open.js"
export { failsBy } from "./query/statement-error.js"
export { rekey } from "./rekey.js"
export type { DatabaseFacts } from "./schema/dialect.js"
export { entities } from "./schema/entities.js"
export { checkJsonSize, jsonText } from "./schema/extra.js"
export {
  applyMigrations,
  migrationStatus,
  revertLastMigration,
} from "./schema/migrate.js"
export { migrations } from "./schema/migrations/index.js"
export type { Compatibility } from "./schema/migrations/migration.js"
export type { UnreadableRowEvent } from "./schema/row-reader.js"
export { newestSessions, type StoredTimes } from "./sessions/newest-sessions.js"
export { sessionPolicyStore } from "./sessions/session-policies.js"
export { homeOf } from "./shards/shards.js"
export { tenantsOf as tenantStore } from "./shards/tenants.js"
export { globalOf, shardedOf, vschemas } from "./shards/vschema.js"
export { signingKeyStore } from "./signing-keys.js"
export type { RetryEvent } from "./transaction/retry.js"
export { unreadableTexts } from "./unreadable-texts.js"
export { emailKey } from "./users/text-keys.js"
export { unfinishedSignUps } from "./users/unfinished-sign-ups.js"
