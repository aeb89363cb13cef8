import { createTables, migration } from "../migration.js"
import { createTable, type Dialect, postgresDialect, serverDialect, sqliteDialect } from "../table-sql.js"

const makes = { table: "audit_entries", column: "details" }

function statementsOf(dialect: Dialect, options?: { prefix: string; options: string }): string[] {
  const { key, longText, time, counted } = dialect
  const following = ["created", "id"]
  const table = {
    columns: { id: counted, tenant: key(63), created: time, method: key(128), details: longText },
    nullable: { key_id: key(63), subject: key(128) },
    indexes: {
      audit_entries_created: ["created"],
      audit_entries_tenant: ["tenant", ...following],
      audit_entries_subject: ["tenant", "subject", ...following],
      audit_entries_key: ["tenant", "key_id", ...following],
      audit_entries_method: ["tenant", "method", ...following],
    },
  }
  return createTable(dialect, "audit_entries", table, options)
}

/**
 * Adds the entries of the audit. Each list has an index that ends with its order. `details` is JSON: what no list selects by.
 * The index of `created` serves the cleanup.
 */
export const auditEntries = migration({
  name: "0009-audit-entries",
  previousVersion: { compatible: true, reason: "it does not use the new table" },
  makes,
  server: (runner) =>
    createTables(runner, {
      tables: ["audit_entries"],
      makes,
      statements: statementsOf(serverDialect, {
        prefix: "authwire_new_",
        options: "ENGINE = InnoDB ROW_FORMAT = DYNAMIC",
      }),
    }),
  sqlite: statementsOf(sqliteDialect),
  postgres: statementsOf(postgresDialect),
  down: "DROP TABLE audit_entries",
})
