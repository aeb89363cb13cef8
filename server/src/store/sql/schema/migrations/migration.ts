import type { MigrationInterface, QueryRunner } from "typeorm"
import type { Compatibility } from "./compatibility.js"

/** A statement, several of them, or work that no statement can do. */
type Steps = string | readonly string[] | ((runner: QueryRunner) => Promise<void>)

/**
 * One change of the tables. On MySQL and MariaDB a statement that changes tables commits at once, so each direction is
 * one statement there: it is done or it is not. On SQLite and PostgreSQL all steps are one transaction. A migration that was
 * released is never edited; the next one follows.
 */
export interface MigrationSteps {
  /** The number and name of the file: `0001-tables`. */
  name: string
  /** What it means for replicas of the version before it, which may still serve. */
  lastVersion: Compatibility
  /**
   * For MySQL and MariaDB: a statement, or work of which nothing is seen before its last statement, or work that goes on
   * from where it ended and of which every step leaves tables that the last version works on.
   */
  server: string | ((runner: QueryRunner) => Promise<void>)
  sqlite: Steps
  postgres: Steps
  /** Back again; a single statement is for all of them. */
  down: string | { server: string | ((runner: QueryRunner) => Promise<void>); sqlite: Steps; postgres: Steps }
}

/** Makes the class that TypeORM wants of each migration. */
export function migration({
  name,
  lastVersion,
  down,
  ...up
}: MigrationSteps): new () => MigrationInterface & Pick<MigrationSteps, "lastVersion"> {
  const back = typeof down === "string" ? { server: down, sqlite: down, postgres: down } : down
  return class {
    // TypeORM sorts by the 13 digits at the end, where it expects a time.
    name = `${name}-${name.slice(0, 4).padStart(13, "0")}`

    lastVersion = lastVersion

    up = (runner: QueryRunner) => run(runner, up)

    down = (runner: QueryRunner) => run(runner, back)
  }
}

async function run(
  runner: QueryRunner,
  { server, sqlite, postgres }: Omit<MigrationSteps, "name" | "lastVersion" | "down">,
) {
  const { type } = runner.dataSource.options
  const steps = type === "better-sqlite3" ? sqlite : type === "postgres" ? postgres : server
  if (typeof steps === "function") await steps(runner)
  else for (const statement of [steps].flat()) await runner.query(statement)
}
