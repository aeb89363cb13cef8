import { MigrationExecutor } from "typeorm"
import type { Database } from "../database.js"

export interface MigrationState {
  /** The number and name of its file, such as `0001-tables`. */
  name: string
  /** Whether it is in the database. */
  applied: boolean
  /** Whether this version of the program has it; if not, a newer version made the tables. */
  known: boolean
}

/** All migrations in their order. Changes nothing in the database. */
export function migrationStatus(database: Database): Promise<MigrationState[]> {
  return database.withQueryRunner(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    const known = database.dataSource.migrations.map(nameOf)
    const applied = (await executor.getExecutedMigrations()).map(nameOf)
    return [...new Set([...known, ...applied])]
      .sort()
      .map((name) => ({ name, applied: applied.includes(name), known: known.includes(name) }))
  })
}

/** The names of the migrations that are still to be applied, in their order. Changes nothing in the database. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  return (await migrationStatus(database)).filter((state) => !state.applied).map((state) => state.name)
}

/**
 * Applies all pending migrations and returns their names. Any number of processes may do so at the same time: one works
 * and the others wait (CONFLICT when that takes too long). In a replication group the lock holds per member: migrate
 * on one. Where a migration fails, those before it stay applied; on SQLite none does.
 */
export function applyMigrations(database: Database): Promise<string[]> {
  return database.withSchemaLock(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    executor.transaction = "none"
    return (await executor.executePendingMigrations()).map(nameOf)
  })
}

/** Reverts the last migration, with all that its tables hold; returns its name, or undefined when there is none. */
export function revertLastMigration(database: Database): Promise<string | undefined> {
  return database.withSchemaLock(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    executor.transaction = "none"
    const [last] = await executor.getExecutedMigrations()
    if (last === undefined) return undefined
    await executor.undoLastMigration()
    return nameOf(last)
  })
}

function nameOf({ name = "" }: { name?: string }): string {
  return name.replace(/-\d{13}$/, "")
}
