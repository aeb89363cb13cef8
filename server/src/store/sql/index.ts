export { apiKeyStore } from "./api-keys.js"
export { keyFromSecret } from "./cipher.js"
export type { Database } from "./database.js"
export { parseDatabaseUrl } from "./engine/url.js"
export {
  openDatabase,
  openSqlStore,
  type SqlDatabaseOptions,
  type SqlStore,
  type SqlStoreOptions,
  sqlStore,
} from "./open.js"
export type { RetryEvent } from "./query/retry.js"
export { type RekeyOptions, type RekeyProgress, rekey } from "./rekey.js"
export type { Engine } from "./schema/column-types.js"
export { type Entities, entities } from "./schema/entities.js"
export {
  applyMigrations,
  type MigrationState,
  migrationStatus,
  pendingMigrations,
  revertLastMigration,
} from "./schema/migrate.js"
export { tenantStore } from "./tenants.js"
