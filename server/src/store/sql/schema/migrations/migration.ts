import type { MigrationInterface, QueryRunner } from "typeorm"

/** A statement, several of them, or work that no statement can do. */
type Steps = string | readonly string[] | ((runner: QueryRunner) => Promise<void>)

/**
 * One change of the tables. On MySQL and MariaDB a statement that changes tables commits at once, so each direction is
 * one statement there: it is done or it is not. On SQLite all steps are one transaction. A migration that was released
 * is never edited; the next one follows.
 */
export interface MigrationSteps {
  /** The number and name of the file: `0001-tables`. */
  name: string
  /** For MySQL and MariaDB: a statement, or work of which nothing is seen before its last statement. */
  server: string | ((runner: QueryRunner) => Promise<void>)
  sqlite: Steps
  /** Back again; a single statement is for all of them. */
  down: string | { server: string; sqlite: Steps }
}

/** Makes the class that TypeORM wants of each migration. */
export function migration({ name, server, sqlite, down }: MigrationSteps): new () => MigrationInterface {
  const back = typeof down === "string" ? { server: down, sqlite: down } : down
  return class {
    // TypeORM sorts by the 13 digits at the end, where it expects a time.
    name = `${name}-${name.slice(0, 4).padStart(13, "0")}`

    up = (runner: QueryRunner) => run(runner, server, sqlite)

    down = (runner: QueryRunner) => run(runner, back.server, back.sqlite)
  }
}

async function run(runner: QueryRunner, server: Steps, sqlite: Steps): Promise<void> {
  const steps = runner.dataSource.options.type === "better-sqlite3" ? sqlite : server
  if (typeof steps === "function") await steps(runner)
  else for (const statement of [steps].flat()) await runner.query(statement)
}
