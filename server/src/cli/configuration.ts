import { parseArgs } from "node:util"
import { secureCookieFromEnvironment } from "@authwire/token"
import type { CertificateFiles } from "../doors/certificate.js"
import { type Address, isLoopback } from "../doors/listen.js"
import { readRates } from "../limits/rates.js"
import { ConfigurationError } from "./configuration-error.js"
import {
  readAddress,
  readApiKeys,
  readAuditLog,
  readDatabaseUrl,
  readEncryptionKeys,
  readSecrets,
  readTls,
} from "./configuration-values.js"
import { type Command, type Flag, type Option, options } from "./options.js"

/** What `authwire` was told, checked. Durations are milliseconds, sizes bytes. */
export interface Configuration {
  dev: boolean
  migrate: boolean
  /** Empty where no database is asked for (keys create --offline). */
  databaseUrl: string
  /** The newest first; empty with --dev where none is given, and where the command has no use for them. */
  secrets: readonly string[]
  /** What encrypts what is stored, in Base64, 32 bytes each; empty: derived from the secrets. */
  encryptionKeys: readonly string[]
  /** Whether session cookies have the secure prefix. */
  secureCookie: boolean
  /** File of the secrets of the other tenants. */
  tenantSecretsFile: string | undefined
  /** Keys beside those of the database: a list in JSON that is known to be well formed, or the file of one. */
  apiKeys: string | undefined
  apiKeysFile: string | undefined
  /** Where the audit log goes: a file, or standard error if undefined. */
  auditLog: { file: string | undefined } | "off"
  /** What happens to calls that write while it cannot be written. */
  auditLogFailure: "drop" | "reject"
  /** Undefined: the door stays closed. */
  grpcAddr: Address | undefined
  httpAddr: Address | undefined
  /** Undefined: nothing is measured. */
  metricsAddr: Address | undefined
  /** Undefined: the doors speak without TLS. */
  tls: CertificateFiles | undefined
  /** How many processes serve; always 1 with SQLite. */
  workers: number
  reflection: boolean
  health: boolean
  databasePoolSize: number
  databaseQueueLimit: number
  databaseStatementTimeoutMs: number
  databaseConnectTimeoutMs: number
  maxDeadlineMs: number
  maxMessageBytes: number
  maxCallsUnderWay: number
  overloadDelayMs: number
  /** Calls a second of a key and method; 0 for any number. */
  rateLimit: number
  /** The same by `Service.Method`. */
  rateLimitOverrides: Readonly<Record<string, number>>
  maxConnections: number
  handshakeTimeoutMs: number
  idleTimeoutMs: number
  shutdownGraceMs: number
  logLevel: string
  logFormat: "json" | "text"
}

/** The options of a command line, as they were given. */
export type Given = Partial<Readonly<Record<Flag, string | boolean>>>
/**
 * Reads the options of a command from its arguments and the environment. Throws ConfigurationError.
 *
 * @returns the configuration, the arguments that are not options, and the options as they were given
 */
export function readConfiguration(
  command: Command,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): { configuration: Configuration; positionals: string[]; given: Given } {
  const all: readonly Option[] = options
  const known = all.filter(({ commands }) => commands.includes(command))
  const optionOf = (flag: Flag) => all.find((option) => option.flag === flag)
  const { values, positionals } = parse(known, args)

  const raw = (flag: Flag): { text: string; source: string } | undefined => {
    const option = optionOf(flag)
    const given = values[flag]
    if (given !== undefined) return { text: String(given), source: `--${flag}` }
    const inherited = option?.variable === undefined ? undefined : environment[option.variable]
    if (inherited !== undefined && inherited !== "" && option !== undefined && known.includes(option)) {
      return { text: inherited, source: option.variable ?? flag }
    }
    const preset = (values.dev === true ? option?.devDefault : undefined) ?? option?.default
    return preset === undefined ? undefined : { text: preset, source: `--${flag}` }
  }
  const boolean = (flag: Flag): boolean => {
    const value = raw(flag)
    if (value === undefined || ["false", "0", "off"].includes(value.text)) return false
    if (["true", "1", "on"].includes(value.text)) return true
    throw new ConfigurationError(`${value.source}: must be true or false`)
  }
  const integer = (flag: Flag): number => {
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = optionOf(flag) ?? {}
    const value = raw(flag)
    const number = Number(value?.text)
    if (value === undefined || !/^\d+$/.test(value.text) || number < min || number > max) {
      throw new ConfigurationError(`${value?.source ?? `--${flag}`}: must be a whole number from ${min} to ${max}`)
    }
    return number
  }
  const choice = (flag: Flag): string => {
    const { choices = [] } = optionOf(flag) ?? {}
    const value = raw(flag)
    if (value === undefined || !choices.includes(value.text)) {
      throw new ConfigurationError(`${value?.source ?? `--${flag}`}: must be one of ${choices.join(", ")}`)
    }
    return value.text
  }
  const rates = (flag: Flag): Record<string, number> => {
    const value = raw(flag)
    try {
      return readRates(value?.text ?? "")
    } catch (error) {
      throw new ConfigurationError(`${value?.source}: ${error instanceof Error ? error.message : error}`)
    }
  }
  const dev = boolean("dev")
  const tls = readTls(raw)
  const mayBeOpen = dev || command !== "serve" || tls !== undefined || boolean("insecure-behind-proxy")
  const address = (flag: Flag): Address | undefined => {
    const value = raw(flag)
    if (value === undefined || value.text === "off") return undefined
    const result = readAddress(value.text, value.source, dev)
    if (mayBeOpen || isLoopback(result)) return result
    throw new ConfigurationError(
      `${value.source}: without TLS only a loopback address, such as 127.0.0.1:${result.port}; give --tls-cert and` +
        " --tls-key, or --insecure-behind-proxy if a proxy in front does TLS and the network between is trusted",
    )
  }

  const configuration: Configuration = {
    dev,
    migrate: dev || boolean("migrate"),
    databaseUrl: boolean("offline") ? "" : readDatabaseUrl(raw("database-url")),
    secrets: command === "serve" || command === "rekey" ? readSecrets(environment, dev) : [],
    encryptionKeys: readEncryptionKeys(environment.AUTHWIRE_ENCRYPTION_KEYS),
    secureCookie: secureCookieFromEnvironment(environment),
    tenantSecretsFile: raw("tenant-secrets-file")?.text,
    apiKeys: command === "serve" ? readApiKeys(environment) : undefined,
    apiKeysFile: raw("api-keys-file")?.text,
    auditLog: readAuditLog(raw("audit-log")?.text),
    auditLogFailure: choice("audit-log-failure") as "drop" | "reject",
    grpcAddr: address("grpc-addr"),
    httpAddr: address("http-addr"),
    metricsAddr: address("metrics-addr"),
    tls,
    workers: integer("workers"),
    reflection: choice("reflection") === "on",
    health: choice("health") === "on",
    databasePoolSize: integer("database-pool-size"),
    databaseQueueLimit: integer("database-queue-limit"),
    databaseStatementTimeoutMs: integer("database-statement-timeout-ms"),
    databaseConnectTimeoutMs: integer("database-connect-timeout-ms"),
    maxDeadlineMs: integer("max-deadline-ms"),
    maxMessageBytes: integer("max-message-bytes"),
    maxCallsUnderWay: integer("max-calls-under-way"),
    overloadDelayMs: integer("overload-delay-ms"),
    rateLimit: integer("rate-limit"),
    rateLimitOverrides: rates("rate-limit-overrides"),
    maxConnections: integer("max-connections"),
    handshakeTimeoutMs: integer("handshake-timeout-ms"),
    idleTimeoutMs: integer("idle-timeout-ms"),
    shutdownGraceMs: integer("shutdown-grace-ms"),
    logLevel: choice("log-level"),
    logFormat: choice("log-format") as "json" | "text",
  }
  if (command === "serve" && configuration.grpcAddr === undefined && configuration.httpAddr === undefined) {
    throw new ConfigurationError("--grpc-addr, --http-addr: one of the doors must be open, but both are off")
  }
  if (configuration.workers > 1 && configuration.databaseUrl.startsWith("sqlite:")) {
    const source = raw("workers")?.source
    throw new ConfigurationError(`${source}: must be 1 with a database of SQLite: one process owns the file`)
  }
  if (configuration.auditLog === "off" && configuration.auditLogFailure === "reject") {
    const source = raw("audit-log-failure")?.source
    throw new ConfigurationError(`${source}: reject needs an audit log, but --audit-log is off`)
  }
  if (configuration.apiKeys !== undefined && configuration.apiKeysFile !== undefined) {
    throw new ConfigurationError("AUTHWIRE_API_KEYS, --api-keys-file: only one of them")
  }
  return { configuration, positionals, given: values as Given }
}

function parse(known: readonly Option[], args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(
        known.flatMap(({ flag, type }) =>
          flag === undefined ? [] : [[flag, { type: type === "boolean" ? "boolean" : "string" } as const]],
        ),
      ),
    })
  } catch (error) {
    // The words of parseArgs name the option and never its value.
    const reason = error instanceof Error ? (error.message.split(/\. /, 1)[0] ?? "") : ""
    throw new ConfigurationError(`${reason}; see authwire --help`, { cause: error })
  }
}
