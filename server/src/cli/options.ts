import { databaseOptions } from "./database-options.js"
import { doorOptions } from "./door-options.js"
import { keyOptions } from "./key-options.js"
import { limitOptions } from "./limit-options.js"
import type { Option } from "./option.js"

export type { Command, Option } from "./option.js"

/** Every option there is. */
export const options = [
  {
    flag: "dev",
    type: "boolean",
    help: "For development: an embedded database and a secret under ./.authwire/, migrated by itself; loopback addresses only; calls without an API key are let in.",
    commands: ["serve", "migrate", "rekey", "keys", "tenants"],
  },
  {
    flag: "database-url",
    variable: "AUTHWIRE_DATABASE_URL",
    type: "database-url",
    placeholder: "URL",
    devDefault: "sqlite:.authwire/authwire.db",
    help: "Where everything is kept: mysql://USER:PASSWORD@HOST:PORT/DATABASE (MySQL 8.4+, MariaDB 10.11+) or sqlite:FILE.",
    commands: ["serve", "migrate", "rekey", "keys", "tenants"],
  },
  {
    variable: "AUTH_SECRET",
    type: "secret",
    devDefault: "a random one, kept in .authwire/secret",
    help: "Encrypts and decrypts tokens: the AUTH_SECRET of the applications. Required, with at least 32 bytes, unless --dev.",
    commands: ["serve", "rekey"],
  },
  {
    variable: "AUTH_SECRET_1..3",
    type: "secret",
    help: "More secrets, to change them without signing anybody out: a higher number is newer, and newer than AUTH_SECRET; the newest encrypts, all decrypt.",
    commands: ["serve", "rekey"],
  },
  {
    variable: "AUTHWIRE_ENCRYPTION_KEYS",
    type: "secret",
    help: "Encrypts the tokens of providers in the database: keys of 32 bytes in Base64 or hexadecimal, separated by commas; the first encrypts, all decrypt. Default: derived from AUTH_SECRET and its like, the newest first.",
    commands: ["serve", "rekey"],
  },
  {
    flag: "tenant-secrets-file",
    variable: "AUTHWIRE_TENANT_SECRETS_FILE",
    type: "file",
    placeholder: "FILE",
    help: 'Secrets of the tenants beside the default one, whose is AUTH_SECRET: JSON, {"acme": ["newest", "older"]}. Read again when it changes.',
    commands: ["serve"],
  },
  {
    variable: "AUTHWIRE_API_KEYS",
    type: "json",
    help: "API keys beside those of the database, as a list in JSON; authwire keys create --offline prints an entry. They hold only hashes of secrets.",
    commands: ["serve"],
  },
  {
    flag: "api-keys-file",
    variable: "AUTHWIRE_API_KEYS_FILE",
    type: "file",
    placeholder: "FILE",
    help: "The same list in a file, which is read again when it changes.",
    commands: ["serve"],
  },
  {
    variable: "SERVICE_AUTH_URL",
    type: "url",
    help: "URL of the applications (else AUTH_URL): GetToken looks for the cookie with the __Secure- prefix unless this is unset or starts with http://.",
    commands: ["serve"],
  },
  {
    flag: "token-cache-size",
    variable: "AUTHWIRE_TOKEN_CACHE_SIZE",
    type: "integer",
    min: 0,
    max: 1_000_000,
    default: "1000",
    help: "How many decrypted tokens each worker remembers, so that a token that is read again is not decrypted again. Together they take at most 4 KiB for each of this number; the least recently used go first. Secrets and expiry are checked at every use. 0: none.",
    commands: ["serve"],
  },
  {
    flag: "migrate",
    variable: "AUTHWIRE_MIGRATE",
    type: "boolean",
    help: "Apply pending migrations before serving. Always so with --dev.",
    commands: ["serve"],
  },
  ...doorOptions,
  {
    flag: "workers",
    variable: "AUTHWIRE_WORKERS",
    type: "integer",
    min: 1,
    max: 64,
    default: "1",
    help: "Processes that serve behind the same addresses, at best one for each core. Each has a pool of its own: MySQL sees up to this many times --database-pool-size connections, and two more for each worker. With SQLite only 1: one process owns the file.",
    commands: ["serve"],
  },
  ...databaseOptions,
  ...limitOptions,
  {
    flag: "shutdown-grace-ms",
    variable: "AUTHWIRE_SHUTDOWN_GRACE_MS",
    type: "integer",
    min: 0,
    max: 3_600_000,
    default: "10000",
    help: "How long calls under way may take to finish after SIGTERM, in milliseconds.",
    commands: ["serve"],
  },
  {
    flag: "log-level",
    variable: "AUTHWIRE_LOG_LEVEL",
    type: "choice",
    choices: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
    default: "info",
    help: "The least severe line that is logged; every call is one line at info.",
    commands: ["serve", "migrate", "rekey", "keys", "tenants"],
  },
  {
    flag: "log-format",
    variable: "AUTHWIRE_LOG_FORMAT",
    type: "choice",
    choices: ["json", "text"],
    default: "json",
    devDefault: "text",
    help: "One JSON object a line, or text for people. Logs go to standard error.",
    commands: ["serve", "migrate", "rekey", "keys", "tenants"],
  },
  {
    flag: "audit-log",
    variable: "AUTHWIRE_AUDIT_LOG",
    type: "file",
    placeholder: "FILE",
    default: "stderr",
    devDefault: "off",
    help: "Where every write and every refused call is told, as one JSON object a line, whatever the log level: stderr, off, or a file, which is appended to. A line is handed to the operating system after its call; nothing waits for the disk (there is no fsync).",
    commands: ["serve"],
  },
  {
    flag: "audit-log-failure",
    variable: "AUTHWIRE_AUDIT_LOG_FAILURE",
    type: "choice",
    choices: ["drop", "reject"],
    default: "drop",
    help: "What happens while the audit log cannot be written, because its disk is full or its pipe is not read. drop: up to 1 MiB of lines waits in each worker; further lines are lost, and counted in both logs. reject: calls that write are rejected with UNAVAILABLE before they do anything, and the lines of all writes that were let in are kept until they can be written or the process ends.",
    commands: ["serve"],
  },
  ...keyOptions,
] as const satisfies readonly Option[]

/** The flag of an option. */
export type Flag = Extract<(typeof options)[number], { flag: string }>["flag"]
