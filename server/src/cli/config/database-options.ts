import type { Option } from "./option.js"
import { boolean, integer, text } from "./values.js"

/** The database and the connections to it. */
export const databaseOptions = {
  databaseUrl: {
    flag: "database-url",
    variable: "AUTHWIRE_DATABASE_URL",
    // What it may be, and when it may be missing, stands in rules.ts.
    value: text("URL"),
    devDefault: "sqlite:.authwire/authwire.db",
    help: "Where everything is kept: mysql://USER:PASSWORD@HOST:PORT/DATABASE (MySQL 8.4+, MariaDB 10.11+) or sqlite:FILE.",
    commands: ["serve", "migrate", "rekey", "import", "export", "doctor", "keys", "tenants"],
  },
  migrate: {
    flag: "migrate",
    variable: "AUTHWIRE_MIGRATE",
    value: boolean(),
    default: "false",
    help: "Apply pending migrations before serving. Always so with --dev.",
    commands: ["serve"],
  },
  databasePoolSize: {
    flag: "database-pool-size",
    variable: "AUTHWIRE_DATABASE_POOL_SIZE",
    value: integer(1, 1000),
    default: "10",
    help: "Connections to MySQL that calls have at the most, for each worker; writers leave a fifth of them to readers. Two more are for health and API keys. (SQLite has one.)",
    commands: ["serve"],
  },
  databaseQueueLimit: {
    flag: "database-queue-limit",
    variable: "AUTHWIRE_DATABASE_QUEUE_LIMIT",
    value: integer(0, 1_000_000),
    default: "2000",
    help: "Calls that may wait for a connection or for the turn to write a row, in each worker; one more is rejected at once with RESOURCE_EXHAUSTED. A tenth of them may wait for one row. Who waits for a row does not count as an active call, so writers of rows that are locked reach this limit and not --max-active-calls. (SQLite has one lock for all rows.)",
    commands: ["serve"],
  },
  databaseStatementTimeoutMs: {
    flag: "database-statement-timeout-ms",
    variable: "AUTHWIRE_DATABASE_STATEMENT_TIMEOUT_MS",
    value: integer(10, 600_000),
    default: "5000",
    help: "How long one statement may take, in milliseconds.",
    commands: ["serve", "rekey"],
  },
  databaseConnectTimeoutMs: {
    flag: "database-connect-timeout-ms",
    variable: "AUTHWIRE_DATABASE_CONNECT_TIMEOUT_MS",
    value: integer(10, 600_000),
    default: "5000",
    help: "How long a connection to the database may take to open, in milliseconds.",
    commands: ["serve", "migrate", "rekey", "import", "export", "doctor", "keys", "tenants"],
  },
} as const satisfies Record<string, Option>
