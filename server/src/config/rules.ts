import { ConfigurationError } from "../errors/configuration-error.js"
import { urlsOfHosts } from "../store/sql/cluster/hosts.js"
import { type DatabaseLocation, parseDatabaseUrl } from "../store/sql/engine/url/url.js"
import { isLoopback } from "../util/address.js"
import { importSources } from "./import-sources.js"
import type { Command } from "./option.js"
import { type Name, optionsOf, type Values } from "./options.js"

/** The parsed options of a command. Options of other commands are missing. */
export interface ParsedOptions {
  command: Command
  values: Partial<Values>
  /** Returns the source of an option's value: its flag or its variable. */
  sourceOf: (name: Name) => string
}

/** Checks the rules that concern several options. Throws ConfigurationError. */
export function checkRules(parsed: ParsedOptions): void {
  for (const check of [
    checkTls,
    checkDatabase,
    checkDatabasePassword,
    checkSecrets,
    checkAddresses,
    checkReusePort,
    checkAuditLog,
    checkKeys,
    checkImport,
  ]) {
    check(parsed)
  }
}

/** Creates the error for a rule that an option violates. */
function wrong({ sourceOf }: ParsedOptions, name: Name, rule: string): ConfigurationError {
  return new ConfigurationError(`${sourceOf(name)}: ${rule}`)
}

function checkTls(parsed: ParsedOptions): void {
  const { tlsCert, tlsKey, tlsClientCa } = parsed.values
  if (tlsCert !== undefined && tlsKey === undefined) {
    throw wrong(parsed, "tlsCert", "needs --tls-key, the certificate's private key")
  }
  if (tlsKey !== undefined && tlsCert === undefined) {
    throw wrong(parsed, "tlsKey", "needs --tls-cert, the certificate of this key")
  }
  if (tlsClientCa !== undefined && tlsCert === undefined) {
    throw wrong(parsed, "tlsClientCa", "needs --tls-cert and --tls-key")
  }
}

const databaseUrlForms =
  "mysql://USER:PASSWORD@HOST:PORT/DATABASE, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE"

function checkDatabase(parsed: ParsedOptions): void {
  const { databaseUrl: text, databaseReadUrl: readUrl, offline } = parsed.values
  const usesDatabase = optionsOf(parsed.command).some(([name]) => name === "databaseUrl")
  if (!usesDatabase || offline === true) return
  if (text === undefined) {
    throw new ConfigurationError(
      `--database-url: is required (or AUTHWIRE_DATABASE_URL): ${databaseUrlForms};` +
        " or use --dev for an embedded database",
    )
  }
  const kind = kindOf(parsed, "databaseUrl", text)
  if (readUrl === undefined) return
  if (kind !== "server") throw wrong(parsed, "databaseReadUrl", "needs a MySQL or MariaDB server as --database-url")
  if (kindOf(parsed, "databaseReadUrl", readUrl) !== "server")
    throw wrong(parsed, "databaseReadUrl", "must be mysql://USER:PASSWORD@HOST:PORT/DATABASE")
}

function checkDatabasePassword(parsed: ParsedOptions): void {
  const { databaseUrl, databaseReadUrl, databasePasswordFile: file, databasePasswordCommand: command } = parsed.values
  const name = file === undefined ? "databasePasswordCommand" : "databasePasswordFile"
  if (file === undefined && command === undefined) return
  if (file !== undefined && command !== undefined) {
    throw wrong(parsed, name, "must not be combined with --database-password-command")
  }
  if (isFile(databaseUrl)) throw wrong(parsed, name, "needs a database server, and SQLite has no password")
  if (
    [databaseUrl, databaseReadUrl].some(
      (url) => url !== undefined && /^\w+:\/\/[^/@?#]*:[^/@?#]+@|[?&]password=./.test(url),
    )
  ) {
    throw wrong(parsed, name, "must not be combined with a password in --database-url or --database-read-url")
  }
}

const isFile = (databaseUrl = "") => /^(sqlite|file):/.test(databaseUrl)

/** Returns the kind of database that a URL names, or that each of its hosts is. */
function kindOf(parsed: ParsedOptions, name: Name, url: string): DatabaseLocation["kind"] | undefined {
  try {
    return urlsOfHosts(url).map(parseDatabaseUrl)[0]?.kind
  } catch (error) {
    if (error instanceof TypeError) throw wrong(parsed, name, error.message)
    throw error
  }
}

/** The minimum length of a secret. A shorter one can be guessed from a token that it encrypted. */
const minSecretBytes = 32

/** The commands that decrypt or encrypt stored data. */
const needSecrets: readonly Command[] = ["serve", "rekey", "import", "export", "doctor", "keys rotate-signing"]

const secrets = ["authSecret", "authSecret1", "authSecret2", "authSecret3"] as const

function checkSecrets(parsed: ParsedOptions): void {
  const { command, values } = parsed
  if (values.dev === true || !needSecrets.includes(command)) return
  if (secrets.every((name) => values[name] === undefined)) {
    throw new ConfigurationError(
      "AUTH_SECRET: is required, as an environment variable, or AUTH_SECRET_FILE: the AUTH_SECRET of the applications; or use --dev",
    )
  }
  for (const name of secrets) {
    const secret = values[name]
    // Blanks at the ends are part of a secret, but nobody has to guess them.
    if (secret === undefined || Buffer.byteLength(secret.trim()) >= minSecretBytes) continue
    throw wrong(parsed, name, `must have at least ${minSecretBytes} bytes, such as those of: openssl rand -base64 33`)
  }
}

/** What to do about an address that others reach, without TLS. */
export const tlsAdvice =
  "give --tls-cert and --tls-key, or --insecure-behind-proxy if a proxy in front terminates TLS and the network between is trusted"

function checkAddresses(parsed: ParsedOptions): void {
  const { command, values } = parsed
  if (command !== "serve") return
  for (const name of ["grpcAddr", "httpAddr", "metricsAddr"] as const) {
    const address = values[name]
    if (address === undefined || isLoopback(address)) continue
    const loopback = `only a loopback address, such as 127.0.0.1:${address.port}`
    if (values.dev === true) throw wrong(parsed, name, `with --dev ${loopback}`)
    if (values.tlsCert !== undefined || values.insecureBehindProxy === true) continue
    throw wrong(parsed, name, `without TLS ${loopback}; ${tlsAdvice}`)
  }
  if (values.grpcAddr === undefined && values.httpAddr === undefined) {
    throw new ConfigurationError("--grpc-addr, --http-addr: one of the listeners must be open, but both are off")
  }
}

function checkReusePort(parsed: ParsedOptions): void {
  const { reusePort, databaseUrl } = parsed.values
  if (reusePort !== true) return
  if (isFile(databaseUrl)) {
    throw wrong(parsed, "reusePort", "needs a database server, because with SQLite one process owns the file")
  }
  for (const name of ["grpcAddr", "httpAddr"] as const) {
    if (parsed.values[name]?.port !== 0) continue
    throw wrong(parsed, name, "with --reuse-port not port 0, for which each process would pick a port of its own")
  }
}

function checkAuditLog(parsed: ParsedOptions): void {
  const { auditLog, auditLogFailure } = parsed.values
  if (auditLog !== "off" || auditLogFailure !== "reject") return
  throw wrong(parsed, "auditLogFailure", "reject needs an audit log, but --audit-log is off")
}

function checkKeys({ values: { apiKeys, apiKeysFile } }: ParsedOptions): void {
  if (apiKeys === undefined || apiKeysFile === undefined) return
  throw new ConfigurationError("AUTHWIRE_API_KEYS, --api-keys-file: only one of them may be set")
}

function checkImport(parsed: ParsedOptions): void {
  const { command, values } = parsed
  const { from, url, tenant, deleteAll } = values
  if (command === "import" && from === undefined)
    throw wrong(parsed, "from", `is required: ${importSources.join(", ")}`)
  if (from !== undefined && url === undefined) {
    throw wrong(parsed, "url", "is required with --from: the URL of the database that is read")
  }
  if (from === undefined && url !== undefined)
    throw wrong(parsed, "url", "needs --from, the kind of the source database")
  if (url !== undefined && from !== "jsonl") kindOf(parsed, "url", url)
  if (command === "import" && url === values.databaseUrl) {
    throw wrong(parsed, "url", "must be another database than --database-url")
  }
  if (deleteAll === undefined) return
  if (values.delete !== true) throw wrong(parsed, "deleteAll", "needs --delete")
  if (deleteAll !== tenant) {
    throw wrong(parsed, "deleteAll", `must be the name of the tenant that gets the data (--tenant), which is ${tenant}`)
  }
}
