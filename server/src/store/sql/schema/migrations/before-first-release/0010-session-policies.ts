import { createTables, migration } from "../migration.js"
import { createTable, type Dialect, postgresDialect, serverDialect, sqliteDialect } from "../table-sql.js"

const makes = { table: "session_policies", column: "revoked_before" }

function statementsOf(dialect: Dialect, options?: { prefix: string; options: string }): string[] {
  const { key, time, whole } = dialect
  const table = {
    columns: { tenant: key(63), provider: key(255) },
    nullable: {
      max_age: whole,
      idle_timeout: whole,
      max_sessions: whole,
      at_limit: key(16),
      revoked_before: time,
    },
    key: ["tenant", "provider"],
  }
  return createTable(dialect, "session_policies", table, options)
}

/** Adds the session policies of tenants. */
export const sessionPolicies = migration({
  name: "0010-session-policies",
  previousVersion: {
    compatible: true,
    reason: "it does not use the new table: a session that has ended by a policy can still be read through it",
  },
  makes,
  server: (runner) =>
    createTables(runner, {
      tables: ["session_policies"],
      makes,
      statements: statementsOf(serverDialect, {
        prefix: "authwire_new_",
        options: "ENGINE = InnoDB ROW_FORMAT = DYNAMIC",
      }),
    }),
  sqlite: statementsOf(sqliteDialect),
  postgres: statementsOf(postgresDialect),
  down: "DROP TABLE session_policies",
})
