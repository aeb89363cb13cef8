import { secretsFromEnvironment } from "@authwire/token"
import { GivenError } from "../../access/given-error.js"
import { parseGivenKeys } from "../../access/given-keys.js"
import type { CertificateFiles } from "../../doors/certificate.js"
import { type Address, isLoopback } from "../../doors/listen.js"
import type { Configuration } from "./configuration.js"
import { ConfigurationError } from "./error.js"
import type { Flag } from "./options.js"

// What single options may be. Each throws ConfigurationError, which names the option and the rule.

/** A shorter secret can be guessed from a token that it encrypted. */
const minSecretBytes = 32

export function readAddress(text: string, source: string, dev: boolean): Address {
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

export function readTls(
  raw: (flag: Flag) => { text: string; source: string } | undefined,
): CertificateFiles | undefined {
  const [cert, key, clientCa] = [raw("tls-cert"), raw("tls-key"), raw("tls-client-ca")]
  if (cert !== undefined && key !== undefined) return { cert: cert.text, key: key.text, clientCa: clientCa?.text }
  if (cert !== undefined) throw new ConfigurationError(`${cert.source}: needs --tls-key, the certificate's private key`)
  if (key !== undefined) throw new ConfigurationError(`${key.source}: needs --tls-cert, the certificate of this key`)
  if (clientCa !== undefined) throw new ConfigurationError(`${clientCa.source}: needs --tls-cert and --tls-key`)
  return undefined
}

export function readDatabaseUrl(value: { text: string; source: string } | undefined): string {
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

export function readSecrets(
  environment: Readonly<Record<string, string | undefined>>,
  dev: boolean,
): readonly string[] {
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

export function readEncryptionKeys(list: string | undefined): string[] {
  if (list === undefined || list.trim() === "") return []
  return list.split(",").map((item, index) => {
    const text = item.trim()
    const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64")
    // Buffer.from passes over what is no Base64.
    if (!/^[\w+/-]+=*$/.test(text) || key.length !== 32) {
      throw new ConfigurationError(
        `AUTHWIRE_ENCRYPTION_KEYS: key ${index + 1} must be 32 bytes, in Base64 or hexadecimal (openssl rand -base64 32)`,
      )
    }
    return key.toString("base64")
  })
}

export function readApiKeys(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const text = environment.AUTHWIRE_API_KEYS
  if (text === undefined || text === "") return undefined
  try {
    parseGivenKeys(text)
    return text
  } catch (error) {
    if (!(error instanceof GivenError)) throw error
    throw new ConfigurationError(`AUTHWIRE_API_KEYS: ${error.message}`)
  }
}

export function readAuditLog(text: string | undefined): Configuration["auditLog"] {
  if (text === "off") return "off"
  return { file: text === "stderr" ? undefined : text }
}

/** A database URL that can be shown: without its password and parameters. */
export function withoutSecrets(databaseUrl: string): string {
  const url = URL.parse(databaseUrl)
  if (url === null || databaseUrl.startsWith("sqlite:")) return databaseUrl
  url.password = ""
  url.search = ""
  return url.href
}
