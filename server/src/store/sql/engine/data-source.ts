import type { Logger } from "typeorm"
import { entities } from "../schema/entities.js"
import { migrations } from "../schema/migrations/index.js"
import { dialects } from "./dialects.js"
import type { Engine } from "./engine.js"

/** Returns the options that the data sources of all engines share. */
export function common(engine: Engine) {
  return {
    entities: Object.values(entities(dialects[engine].types)),
    migrations,
    migrationsTableName: "authwire_migrations",
    synchronize: false,
    logger: silent,
  }
}

/**
 * Suppresses TypeORM's logging. It would write queries with their values to the console, and failures are thrown
 * anyway.
 */
const silent: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
}
