import type { Option } from "./option.js"

/** Connections to the database. */
export const databaseOptions = [
  {
    flag: "database-pool-size",
    variable: "AUTHWIRE_DATABASE_POOL_SIZE",
    type: "integer",
    min: 1,
    max: 1000,
    default: "10",
    help: "Connections to MySQL that calls have at the most, for each worker; writers leave a fifth of them to readers. Two more are for health and API keys. (SQLite has one.)",
    commands: ["serve"],
  },
  {
    flag: "database-queue-limit",
    variable: "AUTHWIRE_DATABASE_QUEUE_LIMIT",
    type: "integer",
    min: 0,
    max: 1_000_000,
    default: "2000",
    help: "Calls that may wait for a connection, in each worker; one more is refused at once with RESOURCE_EXHAUSTED. By default --max-calls-under-way is reached before.",
    commands: ["serve"],
  },
  {
    flag: "database-statement-timeout-ms",
    variable: "AUTHWIRE_DATABASE_STATEMENT_TIMEOUT_MS",
    type: "integer",
    min: 10,
    max: 600_000,
    default: "5000",
    help: "How long one statement may take, in milliseconds.",
    commands: ["serve", "rekey"],
  },
  {
    flag: "database-connect-timeout-ms",
    variable: "AUTHWIRE_DATABASE_CONNECT_TIMEOUT_MS",
    type: "integer",
    min: 10,
    max: 600_000,
    default: "5000",
    help: "How long a connection to the database may take to open, in milliseconds.",
    commands: ["serve", "migrate", "rekey", "keys", "tenants"],
  },
] as const satisfies readonly Option[]
