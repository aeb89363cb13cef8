export { apiKeyStore } from "./api-keys.js"
export type { RetryEvent } from "./backoff.js"
export { keyFromSecret } from "./cipher.js"
export type { Engine } from "./column-types.js"
export type { Database } from "./database.js"
export { type Entities, entities } from "./entities.js"
export {
  applyMigrations,
  type MigrationState,
  migrationStatus,
  pendingMigrations,
  revertLastMigration,
} from "./migrate.js"
export {
  openDatabase,
  openSqlStore,
  type SqlDatabaseOptions,
  type SqlStore,
  type SqlStoreOptions,
  sqlStore,
} from "./open.js"
export { type RekeyOptions, type RekeyProgress, rekey } from "./rekey.js"
export { tenantStore } from "./tenants.js"
export { parseDatabaseUrl } from "./url.js"
