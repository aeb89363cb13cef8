import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createSecureContext, type SecureContextOptions } from "node:tls"
import type { Logger } from "pino"
import { secureContextOptions } from "./tls.js"

/** The files of a TLS certificate, in PEM. */
export interface CertificateFiles {
  /** The certificate, followed by those between it and its root. */
  cert: string
  /** Its private key, without a pass phrase. */
  key: string
  /** The certificates that may sign those of clients; undefined: clients are not asked for one. */
  clientCa: string | undefined
}

/** A file that cannot be used. The message names the rule, and never repeats what is in the file. */
export class CertificateError extends Error {
  override readonly name = "CertificateError"
  readonly file: keyof CertificateFiles

  constructor(file: keyof CertificateFiles, message: string, options?: ErrorOptions) {
    super(message, options)
    this.file = file
  }
}

/** The certificate in use. */
export interface CertificateSource {
  readonly asksClients: boolean
  /** What new connections get now. */
  current(): SecureContextOptions
  /** Calls back with each certificate that comes later. */
  onChange(listener: (options: SecureContextOptions) => void): void
  /** Looks at the files no more. */
  stop(): void
}

const pollMs = 1_000
const dayMs = 86_400_000
const soonMs = 7 * dayMs

/**
 * Reads a certificate, and again whenever its files change, which it sees within two seconds, be they written over,
 * replaced or reached by another link. Files that do not fit together are logged, and the certificate before them
 * stays. Throws CertificateError if they do not at the start.
 */
export function watchCertificate(files: CertificateFiles, log: Logger): CertificateSource {
  const listeners: ((options: SecureContextOptions) => void)[] = []
  const paths = Object.entries(files).filter((entry): entry is [keyof CertificateFiles, string] => !!entry[1])
  let used = contentOf(paths.map(([file, path]) => [file, attempt(file, () => readFileSync(path, "utf8"))]))
  let checked = check(used)
  warnOfEnd(checked, log)
  // The state of the files that could not be used when they were last looked at, and whether that was logged.
  let broken: { state: string; logged: boolean } | undefined
  let timer: NodeJS.Timeout
  let stopped = false

  const look = async (): Promise<void> => {
    let state = ""
    try {
      const content = contentOf(
        await Promise.all(
          paths.map(async ([file, path]) => {
            const text = await readFile(path, "utf8").catch((error: unknown) => attempt(file, () => rethrow(error)))
            return [file, text] as const
          }),
        ),
      )
      state = JSON.stringify(content)
      if (state === JSON.stringify(used)) {
        broken = undefined
        return
      }
      if (state === broken?.state && broken.logged) return
      checked = check(content)
      used = content
      broken = undefined
      if (stopped) return
      for (const listener of listeners) listener(checked.options)
      log.info({ valid_to: checked.validTo.toISOString() }, "the TLS certificate has changed: new connections get it")
      warnOfEnd(checked, log)
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error
      state ||= error.message
      // Files that are being replaced one after the other fit together again at the next look.
      const again = state === broken?.state
      if (again && !broken?.logged) {
        log.error(
          { file: files[error.file], reason: error.message },
          "the TLS files cannot be used: keeping those before",
        )
      }
      broken = { state, logged: again }
    }
  }
  const lookLater = (): void => {
    timer = setTimeout(() => look().finally(() => stopped || lookLater()), pollMs).unref()
  }
  lookLater()

  return {
    asksClients: files.clientCa !== undefined,
    current: () => checked.options,
    onChange: (listener) => void listeners.push(listener),
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

interface Content {
  cert: string
  key: string
  clientCa: string | undefined
}

function contentOf(texts: readonly (readonly [keyof CertificateFiles, string])[]): Content {
  return { clientCa: undefined, ...(Object.fromEntries(texts) as { cert: string; key: string }) }
}

function attempt<T>(file: keyof CertificateFiles, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown"
    throw new CertificateError(file, `cannot be read (${code})`, { cause })
  }
}

function rethrow(error: unknown): never {
  throw error
}

function check(content: Content): { options: SecureContextOptions; validTo: Date } {
  const [leaf] = certificates("cert", content.cert)
  if (content.clientCa !== undefined) certificates("clientCa", content.clientCa)
  const key = (() => {
    try {
      return createPrivateKey(content.key)
    } catch (cause) {
      throw new CertificateError("key", "must hold a private key in PEM, without a pass phrase", { cause })
    }
  })()
  if (!leaf.checkPrivateKey(key)) throw new CertificateError("key", "is not the key of the first certificate")
  const options = secureContextOptions({ cert: content.cert, key: content.key, ca: content.clientCa })
  try {
    createSecureContext(options)
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown"
    throw new CertificateError("cert", `is refused by OpenSSL (${code})`, { cause })
  }
  return { options, validTo: new Date(leaf.validTo) }
}

function certificates(file: keyof CertificateFiles, pem: string): [X509Certificate, ...X509Certificate[]] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const rule = "must hold certificates in PEM, whole"
  try {
    const [first, ...others] = blocks.map((block) => new X509Certificate(block))
    if (first !== undefined && blocks.length === pem.split("-----BEGIN ").length - 1) return [first, ...others]
  } catch (cause) {
    throw new CertificateError(file, rule, { cause })
  }
  throw new CertificateError(file, rule)
}

function warnOfEnd({ validTo }: { validTo: Date }, log: Logger): void {
  const leftMs = validTo.getTime() - Date.now()
  if (leftMs > soonMs) return
  log.warn({ valid_to: validTo.toISOString() }, `the TLS certificate ${leftMs > 0 ? "ends soon" : "has expired"}`)
}
