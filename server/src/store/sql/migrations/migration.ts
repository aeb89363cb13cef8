import type { MigrationInterface, QueryRunner } from "typeorm"

/**
 * One change of the tables. On MySQL and MariaDB a statement that changes tables commits at once, so each direction is
 * one statement there: it is done or it is not. A migration that was released is never edited; the next one follows.
 */
export interface MigrationSteps {
  /** The number and name of the file: `0001-users`. */
  name: string
  /** For MySQL and MariaDB. */
  server: string
  sqlite: string[]
  down: string
}

/** Makes the class that TypeORM wants of each migration. */
export function migration({ name, server, sqlite, down }: MigrationSteps): new () => MigrationInterface {
  return class {
    // TypeORM sorts by the 13 digits at the end, where it expects a time.
    name = `${name}-${name.slice(0, 4).padStart(13, "0")}`

    async up(runner: QueryRunner) {
      const statements = runner.dataSource.options.type === "better-sqlite3" ? sqlite : [server]
      for (const statement of statements) await runner.query(statement)
    }

    async down(runner: QueryRunner) {
      await runner.query(down)
    }
  }
}
