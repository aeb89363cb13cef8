import type { OptionDefinition } from "./option.js"
import { boolean, integer, text } from "./values.js"

/** The commands that open the database. */
export const databaseCommands = [
  "serve",
  "migrate",
  "rekey",
  "cleanup",
  "import",
  "export",
  "doctor",
  "keys",
  "tenants",
  "events",
] as const

/** Options of the database and its connections. */
export const databaseOptions = {
  databaseUrl: {
    isCommon: true,
    // rules.ts checks its form and when it is required.
    value: text("URL"),
    devDefault: "sqlite:.authwire/authwire.db",
    help: "The database that stores everything: mysql://USER:PASSWORD@HOST:PORT/DATABASE (MySQL 8.4+, MariaDB 10.11+), postgres://USER:PASSWORD@HOST:PORT/DATABASE (PostgreSQL 15+) or sqlite:FILE. A cluster is HOST:PORT,HOST:PORT, or a name with several addresses; the member that accepts writes is used.",
    commands: databaseCommands,
  },
  databaseReadUrl: {
    value: text("URL"),
    help: "The database for reading lists that may be some hundred milliseconds old (ListUsers, CountUsers, CountSessions, and ListAccountsByUser without tokens): members of the same cluster, or replicas. While none of them answers, --database-url is read.",
  },
  databasePasswordFile: {
    value: text("FILE"),
    help: "A file with the password of the database user, for --database-url and --database-read-url without one. It is read for each new connection, without the newline at its end.",
    commands: databaseCommands,
  },
  databasePasswordCommand: {
    value: text("COMMAND"),
    help: "A program that prints that password, such as a token of 15 minutes. It runs for each new connection, for at most --database-connect-timeout-ms, without a shell: words are separated by blanks. AUTHWIRE_DATABASE_HOST, AUTHWIRE_DATABASE_PORT and AUTHWIRE_DATABASE_USER in its environment name the server and the user.",
    commands: databaseCommands,
  },
  migrate: {
    isCommon: true,
    value: boolean(),
    default: "false",
    help: "Apply pending migrations before serving. Always enabled with --dev.",
  },
  out: {
    value: text("FOLDER"),
    default: ".",
    help: "The existing folder for KEYSPACE.vschema.json and KEYSPACE_global.vschema.json, of a sharded keyspace of Vitess and the unsharded one beside it.",
    commands: ["migrate vschema"],
  },
  databasePoolSize: {
    value: integer(1, 1000),
    default: "10",
    help: "The maximum number of database connections for calls, per process; see limits.md. Two more are used for health and API keys. (SQLite has one.)",
    commands: ["serve", "doctor"],
  },
  databaseStatementTimeoutMs: {
    value: integer(10, 600_000),
    default: "5000",
    help: "The timeout of one statement, in milliseconds.",
    commands: ["serve", "rekey", "cleanup"],
  },
  databaseConnectTimeoutMs: {
    value: integer(10, 600_000),
    default: "5000",
    help: "The timeout for opening a connection to the database, in milliseconds. At the start also the timeout for resolving the addresses of its host (MySQL, MariaDB).",
    commands: databaseCommands,
  },
} as const satisfies Record<string, OptionDefinition>
