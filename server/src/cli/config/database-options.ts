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
    help: "Where everything is kept: mysql://USER:PASSWORD@HOST:PORT/DATABASE (MySQL 8.4+, MariaDB 10.11+), postgres://USER:PASSWORD@HOST:PORT/DATABASE (PostgreSQL 15+) or sqlite:FILE. Of several members of a cluster of MySQL or MariaDB, HOST:PORT,HOST:PORT, or a name with several addresses, the one that takes writes is used.",
    commands: ["serve", "migrate", "rekey", "cleanup", "import", "export", "doctor", "keys", "tenants", "events"],
  },
  databaseReadUrl: {
    flag: "database-read-url",
    variable: "AUTHWIRE_DATABASE_READ_URL",
    value: text("URL"),
    help: "Where lists are read that may be some hundred milliseconds old (ListUsers, CountUsers, and ListAccountsByUser without tokens): members of the same cluster, or replicas, in the form of --database-url. While none answers, and without it, they are read where everything is.",
    commands: ["serve"],
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
    help: "Connections to the database that calls have at the most, for each worker; writers leave a fifth of them to readers. Two more are for health and API keys. (SQLite has one.)",
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
    commands: ["serve", "rekey", "cleanup"],
  },
  databaseConnectTimeoutMs: {
    flag: "database-connect-timeout-ms",
    variable: "AUTHWIRE_DATABASE_CONNECT_TIMEOUT_MS",
    value: integer(10, 600_000),
    default: "5000",
    help: "How long a connection to the database may take to open, in milliseconds; and, at the start, how long the name service may take to tell the addresses of its host (MySQL, MariaDB).",
    commands: ["serve", "migrate", "rekey", "cleanup", "import", "export", "doctor", "keys", "tenants", "events"],
  },
} as const satisfies Record<string, Option>
