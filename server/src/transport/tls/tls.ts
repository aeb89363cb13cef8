import type { Server, TLSSocket, TlsOptions } from "node:tls"
import type { Logger } from "pino"
import type { CertificateSource } from "./certificate.js"

/** What a server of Node needs to speak TLS. */
export function tlsServerOptions(
  certificate: CertificateSource,
  options: { protocols: string[]; handshakeTimeoutMs: number },
): TlsOptions {
  return {
    ...certificate.current(),
    ALPNProtocols: options.protocols,
    handshakeTimeout: options.handshakeTimeoutMs,
    requestCert: certificate.asksClients,
    // Node would turn away those without a certificate, too; see `admits`.
    rejectUnauthorized: false,
  }
}

/** Gives new connections the certificate of the moment, and ends those that fail at the handshake. */
export function followCertificate(server: Server, certificate: CertificateSource, log: Logger): void {
  certificate.onChange((options) => server.setSecureContext(options))
  server.removeAllListeners("tlsClientError")
  server.on("tlsClientError", (error: Error & { code?: string }, socket) => {
    log.debug({ peer: socket.remoteAddress, reason: error.code ?? "unknown" }, "a TLS handshake failed")
    socket.destroy()
  })
}

/** Whether a connection may go on: its client has no certificate, or one that verifies. Destroys it otherwise. */
export function admits(socket: TLSSocket, certificate: CertificateSource, log: Logger): boolean {
  // Errors of TLS that come before a protocol takes the connection would be uncaught.
  socket.on("error", () => socket.destroy())
  if (!certificate.asksClients || socket.authorized || socket.getPeerX509Certificate() === undefined) return true
  log.info(
    { peer: socket.remoteAddress, reason: String(socket.authorizationError) },
    "rejected a client: its certificate does not verify",
  )
  socket.destroy()
  return false
}

/** Whom the certificate of a client names (see Incoming); undefined if it has none that was verified. */
export function verifiedNames(socket: TLSSocket): readonly string[] | undefined {
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  return certificate && namesOf(certificate.subjectAltName)
}

// The name of a type, and either a JSON string, which Node writes when the name holds what could pass for another
// name, or all up to the next comma.
const name = /([A-Za-z0-9 ]+):(?:("(?:[^"\\]|\\.)*")|([^",]*))(?:, |$)/y

/**
 * The names in a subjectAltName as Node writes it: `DNS:…`, `URI:…` and `email:…`, unquoted; other types are left out.
 * None at all if it cannot be read: a name must never come out of the middle of another.
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
