import { constants, createPrivateKey, X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContextOptions } from "node:tls"
import type { Logger } from "pino"
import { InvalidValueError } from "../../errors/invalid-value-error.js"
import { systemCodeOf } from "../../errors/start-error.js"
import { readGivenFile, readRegularFile } from "../../util/given-file.js"
import { watchFiles } from "../../util/watch-file.js"

/** The paths of the PEM files of a TLS certificate. */
export interface CertificateFiles {
  /** The certificate, followed by the intermediate certificates between it and its root. */
  cert: string
  /** Its private key, without a passphrase. */
  key: string
  /** The CA certificates for client certificates. Undefined: clients are not asked for a certificate. */
  clientCa: string | undefined
}

/** The error for an unusable file. The message names the violated rule and never repeats the file's content. */
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
  /** Returns the options for new connections. */
  current(): SecureContextOptions
  /** Registers a listener for each later certificate. */
  onChange(listener: (options: SecureContextOptions) => void): void
  /** Stops watching the files. */
  stop(): void
}

const dayMs = 86_400_000
const soonMs = 7 * dayMs

/**
 * Reads a certificate, and reads it again whenever its files change. A change is detected within two seconds, whether a
 * file is overwritten, replaced or reached through a changed link. If changed files do not fit together, an error is
 * logged and the previous certificate stays in use. Throws CertificateError if they do not fit together at the start.
 */
export function watchCertificate(files: CertificateFiles, log: Logger): CertificateSource {
  const listeners: ((options: SecureContextOptions) => void)[] = []
  const texts = readTexts(files, readGivenFile)
  let checked = check(texts)
  warnOfEnd(checked, log)
  const watch = watchFiles({
    paths: Object.values<string | undefined>({ ...files }).filter((path) => path !== undefined),
    read: () => readTexts(files, readRegularFile),
    used: texts,
    take(changed) {
      checked = check(changed)
      for (const listener of listeners) listener(checked.options)
      log.info({ valid_to: checked.validTo.toISOString() }, "the TLS certificate has changed: new connections use it")
      warnOfEnd(checked, log)
    },
    fail(error) {
      if (!(error instanceof CertificateError)) throw error
      const facts = { file: files[error.file], reason: error.message }
      log.error(facts, "the TLS files cannot be used: keeping the previous ones")
    },
  })

  return {
    asksClients: files.clientCa !== undefined,
    current: () => checked.options,
    onChange: (listener) => void listeners.push(listener),
    stop: watch.stop,
  }
}

/** Reads the certificate once, and checks it. Throws CertificateError. */
export function checkCertificate(files: CertificateFiles): void {
  check(readTexts(files, readGivenFile))
}

/** Reads the PEM texts of all files. */
function readTexts(files: CertificateFiles, readFile: (path: string) => Buffer): CertificateFiles {
  const read = (file: keyof CertificateFiles, path: string) => {
    try {
      return readFile(path).toString()
    } catch (cause) {
      if (cause instanceof InvalidValueError) throw new CertificateError(file, cause.message, { cause })
      throw new CertificateError(file, `cannot be read (${systemCodeOf(cause)})`, { cause })
    }
  }
  return {
    cert: read("cert", files.cert),
    key: read("key", files.key),
    clientCa: files.clientCa === undefined ? undefined : read("clientCa", files.clientCa),
  }
}

function check(content: CertificateFiles): { options: SecureContextOptions; validTo: Date } {
  const [leaf] = certificates("cert", content.cert)
  if (content.clientCa !== undefined) certificates("clientCa", content.clientCa)
  const key = (() => {
    try {
      return createPrivateKey(content.key)
    } catch (cause) {
      throw new CertificateError("key", "must contain a private key in PEM, without a passphrase", { cause })
    }
  })()
  if (!leaf.checkPrivateKey(key)) throw new CertificateError("key", "is not the key of the first certificate")
  const options = secureContextOptions({ cert: content.cert, key: content.key, ca: content.clientCa })
  try {
    createSecureContext(options)
  } catch (cause) {
    throw new CertificateError("cert", `is rejected by OpenSSL (${systemCodeOf(cause)})`, { cause })
  }
  return { options, validTo: new Date(leaf.validTo) }
}

function certificates(file: keyof CertificateFiles, pem: string): [X509Certificate, ...X509Certificate[]] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const rule = "must contain complete certificates in PEM"
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
  log.warn({ valid_to: validTo.toISOString() }, `the TLS certificate ${leftMs > 0 ? "expires soon" : "has expired"}`)
}

// The TLS 1.2 suites have forward secrecy and are AEADs. HTTP/2 forbids all others (RFC 9113, section 9.2.2).
const ciphers = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":")

/** Returns the options of a listener: TLS 1.2 and 1.3. `ca` verifies the certificates of clients. */
function secureContextOptions(pem: { cert: string; key: string; ca: string | undefined }): SecureContextOptions {
  // A resumed session would not verify the client's certificate again, which may have expired since.
  const tickets = pem.ca === undefined ? 0 : constants.SSL_OP_NO_TICKET
  return {
    cert: pem.cert,
    key: pem.key,
    ...(pem.ca !== undefined && { ca: pem.ca }),
    minVersion: "TLSv1.2",
    ciphers,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | tickets,
  }
}
