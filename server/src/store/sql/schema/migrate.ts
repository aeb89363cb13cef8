import { MigrationExecutor, type MigrationInterface, type QueryRunner } from "typeorm"
import { type Database, withShards } from "../database.js"
import { StatementError } from "../query/statement-error.js"
import { type Compatibility, nameOf } from "./migrations/migration.js"

export interface MigrationState {
  /** The number and name of the migration's file, such as `0001-initial`. */
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
export async function migrationStatus(database: Database): Promise<MigrationState[]> {
  const [first, ...others] = await Promise.all(withShards(database).map(statusOf))
  const isApplied = (name: string) => others.every((all) => all.some((one) => one.name === name && one.applied))
  return (first ?? []).map((state) => ({ ...state, applied: state.applied && isApplied(state.name) }))
}

function statusOf(database: Database): Promise<MigrationState[]> {
  return database.withQueryRunner(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    const migrations: (MigrationInterface & { previousVersion?: Compatibility })[] = database.dataSource.migrations
    const known = new Map(migrations.map((migration) => [nameOf(migration), migration.previousVersion]))
    const applied = await appliedMigrations(executor, database)
    return [...new Set([...known.keys(), ...applied])].sort().map((name) => ({
      name,
      applied: applied.includes(name),
      known: known.has(name),
      previousVersion: known.get(name),
    }))
  })
}

/**
 * Applies all pending migrations and returns their names. Any number of processes may call it at the same time, also on
 * different members of a cluster. One of them works and the others wait (CONFLICT if that takes too long). If a
 * migration fails, the earlier ones stay applied; on SQLite none of them does. The shards come one after the other.
 */
export function applyMigrations(database: Database): Promise<string[]> {
  return onAll(database, async (one, executor) => {
    await appliedMigrations(executor, one)
    return (await executor.executePendingMigrations()).map(nameOf)
  })
}

/** Reverts the last migration and deletes all data in its tables. Returns its name, or undefined if there is none. */
export async function revertLastMigration(database: Database): Promise<string | undefined> {
  const [last] = await onAll(database, async (one, executor) => {
    const [name] = await appliedMigrations(executor, one)
    if (name !== undefined) await executor.undoLastMigration()
    return name === undefined ? [] : [name]
  })
  return last
}

/** Runs work on the shards, if there are some, and on the database, whose lock it holds. Returns the names that the work returns. */
function onAll(
  database: Database,
  work: (database: Database, executor: MigrationExecutor) => Promise<string[]>,
): Promise<string[]> {
  const workOn = (one: Database) => async (runner: QueryRunner) => {
    const executor = new MigrationExecutor(one.dataSource, runner)
    executor.transaction = one.dialect.migrations
    return work(one, executor)
  }
  return database.withSchemaLock(async (runner) => {
    const names = new Set<string>()
    for (const shard of database.shards?.all() ?? [])
      for (const name of await shard.withQueryRunner(workOn(shard))) names.add(name)
    for (const name of await workOn(database)(runner)) names.add(name)
    return [...names]
  })
}

/**
 * Returns the names of the applied migrations, the last one first. Throws if one of them has a number of this version's and is
 * another one: its tables are those of a build that was never released.
 */
async function appliedMigrations(executor: MigrationExecutor, { dataSource }: Database): Promise<string[]> {
  const applied = (await executor.getExecutedMigrations()).map(nameOf)
  const known = dataSource.migrations.map(nameOf)
  const numbers = new Set(known.map((name) => name.slice(0, 4)))
  const other = applied.findLast((name) => numbers.has(name.slice(0, 4)) && !known.includes(name))
  if (other === undefined) return applied
  throw new StatementError(
    "fault",
    `a build that was never released has made these tables (${other}): export what is needed with that build, and use an empty database`,
  )
}
