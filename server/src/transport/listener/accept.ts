import { createServer, type Server, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { Connection } from "../limits/connection.js"
import { createTlsServer } from "../tls/tls.js"
import type { ListenerOptions } from "./listener.js"

/** The protocol that TLS has negotiated for a connection, by ALPN; undefined without TLS. */
export function negotiated(socket: Socket): string | undefined {
  return socket instanceof TLSSocket ? socket.alpnProtocol || "http/1.1" : undefined
}

/** Creates the server of a listener, which passes on each accepted connection, with TLS after its handshake. */
export function createAcceptor(
  options: ListenerOptions & { protocols: string[] },
  onConnection: (socket: Socket, connection: Connection) => void,
): Server {
  const { certificate, handshakeTimeoutMs, maxMessageBytes, keyBudgets, log } = options
  const accept = (socket: Socket, names: readonly string[] | undefined) => {
    const connection = new Connection(maxMessageBytes, names, keyBudgets)
    socket.once("close", () => connection.closed())
    onConnection(socket, connection)
  }
  // HTTP/1.1 answers a client that has closed its sending side.
  const socketOptions = { noDelay: true, allowHalfOpen: true }
  if (certificate === undefined) return createServer(socketOptions, (socket) => accept(socket, undefined))
  const tlsOptions = { ALPNProtocols: options.protocols, handshakeTimeout: handshakeTimeoutMs, log }
  return createTlsServer(certificate, { ...socketOptions, ...tlsOptions }, accept)
}
