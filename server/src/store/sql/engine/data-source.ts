import type { Logger } from "typeorm"
import type { Engine } from "../schema/column-types.js"
import { entities } from "../schema/entities.js"
import { migrations } from "../schema/migrations/index.js"

/** What the data sources of all engines have. */
export function common(engine: Engine) {
  return {
    entities: Object.values(entities(engine)),
    migrations,
    migrationsTableName: "authwire_migrations",
    synchronize: false,
    logger: silent,
  }
}

/** TypeORM would write to the console, queries with their values; what fails is thrown as well. */
const silent: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
}
