import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls"
import type { Logger } from "pino"
import type { CertificateSource } from "./certificate.js"

/**
 * Creates a server that passes on each connection whose TLS handshake succeeds and whose client has no certificate, or
 * one that verifies, with the names in it (see CallConnection). It follows the changes of the certificate.
 */
export function createTlsServer(
  certificate: CertificateSource,
  { log, ...options }: TlsOptions & { log: Logger },
  onConnection: (socket: TLSSocket, names: readonly string[] | undefined) => void,
): Server {
  const server = createServer(
    {
      ...options,
      ...certificate.current(),
      requestCert: certificate.asksClients,
      // Otherwise Node would also reject clients without a certificate.
      rejectUnauthorized: false,
    },
    (socket) => {
      // TLS errors that occur before a protocol handles the connection would be uncaught.
      socket.on("error", () => socket.destroy())
      const client = certificate.asksClients ? socket.getPeerX509Certificate() : undefined
      if (client === undefined) onConnection(socket, undefined)
      else if (socket.authorized) onConnection(socket, namesOf(client.subjectAltName))
      else {
        const facts = { peer: socket.remoteAddress, reason: String(socket.authorizationError) }
        log.info(facts, "rejected a client: its certificate cannot be verified")
        socket.destroy()
      }
    },
  )
  certificate.onChange((changed) => server.setSecureContext(changed))
  server.on("tlsClientError", (error: Error & { code?: string }, socket) => {
    log.debug({ peer: socket.remoteAddress, reason: error.code ?? "unknown" }, "a TLS handshake failed")
    socket.destroy()
  })
  return server
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
