import { MigrationExecutor, type MigrationInterface } from "typeorm"
import type { Database } from "../database.js"
import { StatementError } from "../query/statement-error.js"
import { isBeforeFirstRelease, missingBeforeFirstRelease } from "./migrations/before-first-release/index.js"
import { type Compatibility, nameOf } from "./migrations/migration.js"

export interface MigrationState {
  /** The number and name of the migration's file, such as `0001-first-release`. */
  name: string
  /** Whether the migration is applied to the database. */
  applied: boolean
  /** Whether this version of the program has the migration. If not, a newer version has migrated the tables. */
  known: boolean
  /**
   * Whether the previous version of the program works on the resulting tables. Undefined for a migration that is not
   * known.
   */
  previousVersion?: Compatibility | undefined
}

/** Returns all migrations in their order. Changes nothing in the database. */
export function migrationStatus(database: Database): Promise<MigrationState[]> {
  return database.withQueryRunner(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    const migrations: (MigrationInterface & { previousVersion?: Compatibility })[] = database.dataSource.migrations
    const known = new Map(migrations.map((migration) => [nameOf(migration), migration.previousVersion]))
    const executed = (await executor.getExecutedMigrations()).map(nameOf)
    checkEarlierTables(executed)
    const applied = executed.filter((name) => !isBeforeFirstRelease(name))
    return [...new Set([...known.keys(), ...applied])].sort().map((name) => ({
      name,
      applied: applied.includes(name),
      known: known.has(name),
      previousVersion: known.get(name),
    }))
  })
}

/** Returns the names of the pending migrations in their order. Changes nothing in the database. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  return (await migrationStatus(database)).filter((state) => !state.applied).map((state) => state.name)
}

/**
 * Applies all pending migrations and returns their names. Any number of processes may call it at the same time, also on
 * different members of a cluster. One of them works and the others wait (CONFLICT if that takes too long). If a
 * migration fails, the earlier ones stay applied; on SQLite none of them does.
 */
export function applyMigrations(database: Database): Promise<string[]> {
  return database.withSchemaLock(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    executor.transaction = transactionOf(database)
    checkEarlierTables((await executor.getExecutedMigrations()).map(nameOf))
    return (await executor.executePendingMigrations()).map(nameOf)
  })
}

/** Reverts the last migration and deletes all data in its tables. Returns its name, or undefined if there is none. */
export function revertLastMigration(database: Database): Promise<string | undefined> {
  return database.withSchemaLock(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    executor.transaction = transactionOf(database)
    const [last] = await executor.getExecutedMigrations()
    if (last === undefined) return undefined
    if (isBeforeFirstRelease(nameOf(last))) {
      throw new StatementError("fault", "a build before the first release has made these tables: revert them with it")
    }
    await executor.undoLastMigration()
    return nameOf(last)
  })
}

/** Throws if the tables are those of a build before the first release that had not all of its migrations. */
function checkEarlierTables(executed: readonly string[]): void {
  const missing = missingBeforeFirstRelease(executed)
  if (missing.length === 0) return
  throw new StatementError(
    "fault",
    `a build before the first release has made these tables, without ${missing.join(", ")}: apply these with it first`,
  )
}

/**
 * Returns the transaction mode of the executor. PostgreSQL changes tables in transactions. On SQLite the schema lock is
 * a transaction already, and the other servers commit each change at once.
 */
function transactionOf({ engine }: Database): "each" | "none" {
  return engine === "postgres" ? "each" : "none"
}
