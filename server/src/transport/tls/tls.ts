import type { Server, TLSSocket, TlsOptions } from "node:tls"
import type { Logger } from "pino"
import type { CertificateSource } from "./certificate.js"

/** Returns the TLS options of a Node server. */
export function tlsServerOptions(
  certificate: CertificateSource,
  options: { protocols: string[]; handshakeTimeoutMs: number },
): TlsOptions {
  return {
    ...certificate.current(),
    ALPNProtocols: options.protocols,
    handshakeTimeout: options.handshakeTimeoutMs,
    requestCert: certificate.asksClients,
    // Otherwise Node would also reject clients without a certificate; see `admits`.
    rejectUnauthorized: false,
  }
}

/** Gives new connections the current certificate, and destroys connections whose handshake fails. */
export function followCertificate(server: Server, certificate: CertificateSource, log: Logger): void {
  certificate.onChange((options) => server.setSecureContext(options))
  server.removeAllListeners("tlsClientError")
  server.on("tlsClientError", (error: Error & { code?: string }, socket) => {
    log.debug({ peer: socket.remoteAddress, reason: error.code ?? "unknown" }, "a TLS handshake failed")
    socket.destroy()
  })
}

/**
 * Returns whether a connection may continue: its client has no certificate, or one that verifies. Otherwise destroys
 * it.
 */
export function admits(socket: TLSSocket, certificate: CertificateSource, log: Logger): boolean {
  // TLS errors that occur before a protocol handles the connection would be uncaught.
  socket.on("error", () => socket.destroy())
  if (!certificate.asksClients || socket.authorized || socket.getPeerX509Certificate() === undefined) return true
  log.info(
    { peer: socket.remoteAddress, reason: String(socket.authorizationError) },
    "rejected a client: its certificate cannot be verified",
  )
  socket.destroy()
  return false
}

/** Returns the names in a client's certificate (see CallConnection); undefined if the client has no verified certificate. */
export function verifiedNames(socket: TLSSocket): readonly string[] | undefined {
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  return certificate && namesOf(certificate.subjectAltName)
}

// The type, then either a JSON string or all text up to the next comma. Node writes a JSON string if the name contains
// text that could be mistaken for another name.
const name = /([A-Za-z0-9 ]+):(?:("(?:[^"\\]|\\.)*")|([^",]*))(?:, |$)/y

/**
 * Returns the names of a subjectAltName in Node's format: `DNS:…`, `URI:…` and `email:…`, unquoted. Other types are
 * omitted. If the text cannot be parsed, no name is returned, because a name must never be taken from inside another.
 */
export function namesOf(subjectAltName: string | undefined): readonly string[] {
  if (subjectAltName === undefined) return []
  const names: string[] = []
  name.lastIndex = 0
  while (name.lastIndex < subjectAltName.length) {
    const [, type, quoted, plain] = name.exec(subjectAltName) ?? []
    const value = quoted === undefined ? plain : unquoted(quoted)
    if (value === undefined) return []
    if (type === "DNS" || type === "URI" || type === "email") names.push(`${type}:${value}`)
  }
  return names
}

function unquoted(json: string): string | undefined {
  try {
    return JSON.parse(json) as string
  } catch {
    return undefined
  }
}
