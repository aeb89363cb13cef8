import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2"
import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer, TLSSocket, Server as TlsServer } from "node:tls"
import {
  logVerbosity,
  type MethodDefinition,
  Server,
  ServerCredentials,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js"
import type { Readiness } from "../../health/readiness.js"
import type { Incoming } from "../../rpc/active-calls.js"
import type { Method } from "../../rpc/router.js"
import { shareOf } from "../budgets/share-of.js"
import { openHttpListener } from "../connect/http.js"
import { acquireSlot, Connection, closeUnneeded } from "../connection.js"
import { closeUnresponsive } from "../cut/close-unresponsive.js"
import { cut } from "../cut/cut.js"
import { limits } from "../limits.js"
import { listen } from "../listen.js"
import { outliveStreams } from "../outlive-streams.js"
import { grpcTimeout } from "../timeout.js"
import { admits, followCertificate, tlsServerOptions, verifiedNames } from "../tls/tls.js"
import type { Listener, ListenerOptions } from "../transport.js"
import { handover } from "./handover.js"
import { methodDefinition, serveStream, serveUnary } from "./method.js"
import { type GrpcStream, takeStreams } from "./streams.js"

/** The length of the HTTP/2 connection preface (RFC 9113, section 3.4), in bytes. */
const prefaceBytes = 24

/**
 * Opens the gRPC listener, which grpc-js serves. Rejects as `listen` does.
 *
 * If the HTTP/2 server inside this version of grpc-js cannot be found, nothing would bound its streams. The listener is
 * then opened as the HTTP listener is, which also serves gRPC, but more slowly.
 */
export async function openGrpcListener(options: ListenerOptions & { readiness: Readiness }): Promise<Listener> {
  // grpc-js would write headers that it cannot parse to the error output, including keys and cookies.
  setLogVerbosity(logVerbosity.NONE)
  const { certificate, router, handshakeTimeoutMs, keyBudgets, maxMessageBytes, openMethods, log } = options
  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": limits.maxConcurrentStreams,
    // The service does not expose channelz, so its statistics of each call would be useless.
    "grpc.enable_channelz": 0,
  })
  const calls = handover()
  for (const { methods } of router.services) {
    const definition: Record<string, MethodDefinition<Uint8Array, Uint8Array>> = {}
    const implementation: UntypedServiceImplementation = {}
    for (const { desc } of methods) {
      definition[desc.localName] = methodDefinition(desc)
      implementation[desc.localName] = calls.take
    }
    server.addService(definition, implementation)
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const http2Server = http2ServerOf(server)
  if (http2Server === undefined) {
    log.warn("this version of @grpc/grpc-js is not supported: gRPC is served by Connect, which is slower")
    return openHttpListener(options)
  }
  http2Server.updateSettings({
    maxConcurrentStreams: limits.maxConcurrentStreams,
    maxHeaderListSize: limits.maxHeaderBytes,
  })
  const connections = new WeakMap<ServerHttp2Session, Connection>()
  const connectionOf = ({ session }: ServerHttp2Stream) => session && connections.get(session as ServerHttp2Session)
  const { maxDeadlineMs } = router
  const onStream = (method: Method, stream: GrpcStream) => {
    const connection = connectionOf(stream.stream)
    // The connection was closed at the same moment.
    if (connection === undefined) return
    const { share, rejection } = shareOf(stream.stream, {
      method,
      connection,
      openMethods,
      maxDeadlineMs,
      cut: () => cut(stream.stream),
    })
    const incoming: Incoming = {
      ...incomingOf(stream, connection, rejection),
      turn: method.isOpen ? undefined : (call) => acquireSlot(connection, call, stream.stream),
    }
    const arrival = { method, incoming, connection, stream, share, handover: calls, openMethods }
    if (method.desc.methodKind === "unary") serveUnary(arrival)
    else serveStream(arrival)
  }
  takeStreams(http2Server, router, onStream, (stream) => connectionOf(stream)?.countUnauthenticated())
  const asksClients = certificate?.asksClients === true
  const accept = (socket: Socket) => {
    // Closes a connection that does not send the HTTP/2 preface in time.
    const timer = setTimeout(() => socket.bytesRead < prefaceBytes && socket.destroy(), handshakeTimeoutMs)
    socket.once("close", () => clearTimeout(timer))
    const names = socket instanceof TLSSocket && asksClients ? verifiedNames(socket) : undefined
    const remember = (session: ServerHttp2Session) => {
      const connection = new Connection(maxMessageBytes, names, keyBudgets)
      connections.set(session, connection)
      outliveStreams(session)
      closeUnneeded(session, socket, connection, options.idleTimeoutMs)
      closeUnresponsive(session, socket)
    }
    http2Server.once("session", remember)
    injector.injectConnection(socket)
    // Removed even if no session was created. Otherwise the listener would run for the next connection.
    http2Server.off("session", remember)
  }
  const acceptor =
    certificate === undefined
      ? createServer({ noDelay: true }, accept)
      : createTlsServer(
          { ...tlsServerOptions(certificate, { protocols: ["h2"], handshakeTimeoutMs }), noDelay: true },
          (socket) => {
            if (!admits(socket, certificate, log)) return
            if (socket.alpnProtocol === "h2") accept(socket)
            else socket.destroy()
          },
        )
  if (acceptor instanceof TlsServer && certificate !== undefined) followCertificate(acceptor, certificate, log)
  const listener = await listen(acceptor, options)
  return {
    address: listener.address,
    stopAccepting() {
      listener.stop()
      // Sends a GOAWAY on every connection, so that clients make their next calls elsewhere. Active calls may finish.
      server.tryShutdown(() => {})
    },
    closed: listener.closed,
  }
}

// grpc-js creates its HTTP/2 server itself and has no public access to it.
function http2ServerOf(server: Server): Http2Server | undefined {
  const { http2Servers } = server as unknown as { http2Servers?: Map<Http2Server, unknown> }
  return http2Servers instanceof Map ? [...http2Servers.keys()][0] : undefined
}

function incomingOf({ headers }: GrpcStream, connection: Connection, rejection: Incoming["rejection"]): Incoming {
  return {
    transport: "grpc",
    timeoutMs: grpcTimeout(headers),
    header: (name) => firstOf(headers[name]),
    certificateNames: connection.certificateNames,
    rejection,
    connection,
  }
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
