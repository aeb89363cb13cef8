import { parseArgs } from "node:util"
import { secretsFromEnvironment, secureCookieFromEnvironment } from "@authwire/token"
import type { CertificateFiles } from "../doors/certificate.js"
import { type Address, isLoopback } from "../doors/listen.js"
import { type Flag, type Option, options } from "./options.js"

/** What `authwire` was told, checked. Durations are milliseconds, sizes bytes. */
export interface Configuration {
  dev: boolean
  migrate: boolean
  databaseUrl: string
  /** The newest first; empty with --dev where none is given, and for migrate. */
  secrets: readonly string[]
  /** Whether session cookies have the secure prefix. */
  secureCookie: boolean
  /** Undefined: the door stays closed. */
  grpcAddr: Address | undefined
  httpAddr: Address | undefined
  /** Undefined: the doors speak without TLS. */
  tls: CertificateFiles | undefined
  /** How many processes serve; always 1 with SQLite. */
  workers: number
  reflection: boolean
  databasePoolSize: number
  databaseQueueLimit: number
  databaseStatementTimeoutMs: number
  databaseConnectTimeoutMs: number
  maxDeadlineMs: number
  maxMessageBytes: number
  maxConnections: number
  handshakeTimeoutMs: number
  idleTimeoutMs: number
  shutdownGraceMs: number
  logLevel: string
  logFormat: "json" | "text"
}

/** A shorter secret can be guessed from a token that it encrypted. */
const minSecretBytes = 32

/** An option that breaks a rule. The message names the option and the rule, and never repeats a secret. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError"
}

/**
 * Reads the options of a command from its arguments and the environment. Throws ConfigurationError.
 *
 * @returns the configuration, and the arguments that are not options
 */
export function readConfiguration(
  command: "serve" | "migrate",
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): { configuration: Configuration; positionals: string[] } {
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
  const dev = boolean("dev")
  const tls = readTls(raw)
  const mayBeOpen = dev || command === "migrate" || tls !== undefined || boolean("insecure-behind-proxy")
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
    databaseUrl: readDatabaseUrl(raw("database-url")),
    secrets: command === "serve" ? readSecrets(environment, dev) : [],
    secureCookie: secureCookieFromEnvironment(environment),
    grpcAddr: address("grpc-addr"),
    httpAddr: address("http-addr"),
    tls,
    workers: integer("workers"),
    reflection: choice("reflection") === "on",
    databasePoolSize: integer("database-pool-size"),
    databaseQueueLimit: integer("database-queue-limit"),
    databaseStatementTimeoutMs: integer("database-statement-timeout-ms"),
    databaseConnectTimeoutMs: integer("database-connect-timeout-ms"),
    maxDeadlineMs: integer("max-deadline-ms"),
    maxMessageBytes: integer("max-message-bytes"),
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
  return { configuration, positionals }
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

function readAddress(text: string, source: string, dev: boolean): Address {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port > 65_535) {
    throw new ConfigurationError(`${source}: must be HOST:PORT with a port from 0 to 65535, [IPv6]:PORT, or off`)
  }
  if (dev && !isLoopback({ host })) {
    throw new ConfigurationError(`${source}: with --dev only a loopback address, such as 127.0.0.1:${port}`)
  }
  return { host, port }
}

function readTls(raw: (flag: Flag) => { text: string; source: string } | undefined): CertificateFiles | undefined {
  const [cert, key, clientCa] = [raw("tls-cert"), raw("tls-key"), raw("tls-client-ca")]
  if (cert !== undefined && key !== undefined) return { cert: cert.text, key: key.text, clientCa: clientCa?.text }
  if (cert !== undefined) throw new ConfigurationError(`${cert.source}: needs --tls-key, the certificate's private key`)
  if (key !== undefined) throw new ConfigurationError(`${key.source}: needs --tls-cert, the certificate of this key`)
  if (clientCa !== undefined) throw new ConfigurationError(`${clientCa.source}: needs --tls-cert and --tls-key`)
  return undefined
}

function readDatabaseUrl(value: { text: string; source: string } | undefined): string {
  if (value === undefined) {
    throw new ConfigurationError(
      "--database-url: is required (or AUTHWIRE_DATABASE_URL): mysql://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE;" +
        " or use --dev for an embedded database",
    )
  }
  const { text, source } = value
  if (/^sqlite:./.test(text)) return text
  const url = URL.parse(text)
  if (url?.protocol !== "mysql:" || url.hostname === "" || url.pathname.length < 2) {
    throw new ConfigurationError(`${source}: must be mysql://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE`)
  }
  return text
}

function readSecrets(environment: Readonly<Record<string, string | undefined>>, dev: boolean): readonly string[] {
  const secrets = secretsFromEnvironment(environment)
  if (secrets.length === 0 && !dev) {
    throw new ConfigurationError(
      "AUTH_SECRET: is required, as an environment variable: the AUTH_SECRET of the applications; or use --dev",
    )
  }
  for (const variable of ["AUTH_SECRET", "AUTH_SECRET_1", "AUTH_SECRET_2", "AUTH_SECRET_3"]) {
    const bytes = Buffer.byteLength(environment[variable] ?? "")
    if (dev || bytes === 0 || bytes >= minSecretBytes) continue
    throw new ConfigurationError(
      `${variable}: must have at least ${minSecretBytes} bytes, such as those of: openssl rand -base64 33`,
    )
  }
  return secrets
}

/** A database URL that can be shown: without its password and parameters. */
export function withoutSecrets(databaseUrl: string): string {
  const url = URL.parse(databaseUrl)
  if (url === null || databaseUrl.startsWith("sqlite:")) return databaseUrl
  url.password = ""
  url.search = ""
  return url.href
}
