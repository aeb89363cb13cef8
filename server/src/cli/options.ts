import { keyOptions } from "./key-options.js"

/** What `authwire` can be told to do. */
export type Command = "serve" | "migrate" | "rekey" | "keys" | "tenants"

/** One option: the source of parsing, checking, `--help` and docs/configuration.md. */
export interface Option {
  /** The flag, without dashes. Secrets have none: they never stand on a command line. */
  flag?: string
  /** The environment variable; a flag wins over it. */
  variable?: string
  type:
    | "boolean"
    | "integer"
    | "address"
    | "database-url"
    | "choice"
    | "secret"
    | "url"
    | "json"
    | "file"
    | "text"
    | "rates"
  /** What stands in for the value in the help. */
  placeholder?: string
  /** As one would write it on the command line. */
  default?: string
  /** The default with `--dev`, where it differs. */
  devDefault?: string
  choices?: readonly string[]
  min?: number
  max?: number
  help: string
  commands: readonly Command[]
}

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
    flag: "migrate",
    variable: "AUTHWIRE_MIGRATE",
    type: "boolean",
    help: "Apply pending migrations before serving. Always so with --dev.",
    commands: ["serve"],
  },
  {
    flag: "grpc-addr",
    variable: "AUTHWIRE_GRPC_ADDR",
    type: "address",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:50051",
    help: "Address of the gRPC door. Port 0 picks a free one; off closes the door.",
    commands: ["serve"],
  },
  {
    flag: "http-addr",
    variable: "AUTHWIRE_HTTP_ADDR",
    type: "address",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:8080",
    help: "Address of the HTTP door (Connect, gRPC-Web, gRPC, probes). Port 0 picks a free one; off closes the door.",
    commands: ["serve"],
  },
  {
    flag: "tls-cert",
    variable: "AUTHWIRE_TLS_CERT",
    type: "file",
    placeholder: "FILE",
    help: "TLS at both doors: the certificate in PEM, followed by those between it and its root. It is read again when the files change. Required, with --tls-key, to listen on other addresses than loopback, unless --insecure-behind-proxy.",
    commands: ["serve"],
  },
  {
    flag: "tls-key",
    variable: "AUTHWIRE_TLS_KEY",
    type: "file",
    placeholder: "FILE",
    help: "The private key of --tls-cert in PEM, without a pass phrase.",
    commands: ["serve"],
  },
  {
    flag: "tls-client-ca",
    variable: "AUTHWIRE_TLS_CLIENT_CA",
    type: "file",
    placeholder: "FILE",
    help: "Asks clients for a certificate (mTLS): those that may sign it, in PEM. One that does not verify is refused; a client may come without.",
    commands: ["serve"],
  },
  {
    flag: "insecure-behind-proxy",
    variable: "AUTHWIRE_INSECURE_BEHIND_PROXY",
    type: "boolean",
    help: "Listen on any address without TLS: for a trusted network in which a proxy in front does TLS.",
    commands: ["serve"],
  },
  {
    flag: "workers",
    variable: "AUTHWIRE_WORKERS",
    type: "integer",
    min: 1,
    max: 64,
    default: "1",
    help: "Processes that serve behind the same addresses, at best one for each core. Each has a pool of its own: MySQL sees up to this many times --database-pool-size connections. With SQLite only 1: one process owns the file.",
    commands: ["serve"],
  },
  {
    flag: "reflection",
    variable: "AUTHWIRE_REFLECTION",
    type: "choice",
    choices: ["on", "off"],
    default: "on",
    help: "Whether the service describes itself (gRPC server reflection), to whoever asks: it needs no API key.",
    commands: ["serve"],
  },
  {
    flag: "health",
    variable: "AUTHWIRE_HEALTH",
    type: "choice",
    choices: ["on", "off"],
    default: "on",
    help: "Whether grpc.health.v1.Health is served, which needs no API key. The probes of the HTTP door stay.",
    commands: ["serve"],
  },
  {
    flag: "database-pool-size",
    variable: "AUTHWIRE_DATABASE_POOL_SIZE",
    type: "integer",
    min: 1,
    max: 1000,
    default: "10",
    help: "Connections to MySQL at the most, for each worker. (SQLite has one.)",
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
  {
    flag: "max-deadline-ms",
    variable: "AUTHWIRE_MAX_DEADLINE_MS",
    type: "integer",
    min: 10,
    max: 3_600_000,
    default: "30000",
    help: "How long a call may take, in milliseconds, whatever its caller asks for.",
    commands: ["serve"],
  },
  {
    flag: "max-message-bytes",
    variable: "AUTHWIRE_MAX_MESSAGE_BYTES",
    type: "integer",
    min: 1024,
    max: 1_073_741_824,
    default: "4194304",
    help: "The largest request, in bytes; a larger one is refused with RESOURCE_EXHAUSTED.",
    commands: ["serve"],
  },
  {
    flag: "max-calls-under-way",
    variable: "AUTHWIRE_MAX_CALLS_UNDER_WAY",
    type: "integer",
    min: 1,
    max: 1_000_000,
    default: "2000",
    help: "Calls that may be under way in each worker at the same time; one more is refused with RESOURCE_EXHAUSTED. Health and reflection do not count.",
    commands: ["serve"],
  },
  {
    flag: "overload-delay-ms",
    variable: "AUTHWIRE_OVERLOAD_DELAY_MS",
    type: "integer",
    min: 0,
    max: 60_000,
    default: "500",
    help: "How long calls may take on average, in milliseconds. When they take longer for as long, or calls are refused for --max-calls-under-way, more are refused with RESOURCE_EXHAUSTED, until those that are let in take about a fiftieth of it. 0: only --max-calls-under-way counts.",
    commands: ["serve"],
  },
  {
    flag: "rate-limit",
    variable: "AUTHWIRE_RATE_LIMIT",
    type: "integer",
    min: 0,
    max: 1_000_000_000,
    default: "20000",
    help: "Calls that an API key may make of a method in a second, in each worker of each replica; more are refused with RESOURCE_EXHAUSTED. 0 limits none.",
    commands: ["serve"],
  },
  {
    flag: "rate-limit-overrides",
    variable: "AUTHWIRE_RATE_LIMIT_OVERRIDES",
    type: "rates",
    placeholder: "SERVICE.METHOD=N,…",
    default: "VerificationTokenService.UseVerificationToken=200,UserService.GetUserByEmail=1000",
    help: "The same for single methods, in place of --rate-limit. Those of the default are where somebody may guess: tokens, and who has an account. What is given here takes the place of the whole default.",
    commands: ["serve"],
  },
  {
    flag: "max-connections",
    variable: "AUTHWIRE_MAX_CONNECTIONS",
    type: "integer",
    min: 1,
    max: 1_000_000,
    default: "10000",
    help: "Connections at the same time at each door, in each worker; one more is closed at once.",
    commands: ["serve"],
  },
  {
    flag: "handshake-timeout-ms",
    variable: "AUTHWIRE_HANDSHAKE_TIMEOUT_MS",
    type: "integer",
    min: 100,
    max: 600_000,
    default: "10000",
    help: "How long a new connection may take for the TLS handshake and then to say what it wants (the preface of HTTP/2, the header of a request of HTTP/1.1), in milliseconds each.",
    commands: ["serve"],
  },
  {
    flag: "idle-timeout-ms",
    variable: "AUTHWIRE_IDLE_TIMEOUT_MS",
    type: "integer",
    min: 100,
    max: 2_147_483_647,
    default: "900000",
    help: "How long a connection of HTTP/2 stays open without a call, in milliseconds; its client is told, and connects again when it needs to.",
    commands: ["serve"],
  },
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
    help: "Where every write and every refused call is told, as one JSON object a line, whatever the log level: stderr, off, or a file, which is appended to.",
    commands: ["serve"],
  },
  ...keyOptions,
] as const satisfies readonly Option[]

/** The flag of an option. */
export type Flag = Extract<(typeof options)[number], { flag: string }>["flag"]
