import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2"
import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer, TLSSocket, Server as TlsServer } from "node:tls"
import type { DescMethod } from "@bufbuild/protobuf"
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
import { Connection, closeUnneeded, turnOf } from "../connection.js"
import { cut } from "../cut/cut.js"
import { cutSilent } from "../cut/cut-silent.js"
import { limits } from "../limits.js"
import { listen } from "../listen.js"
import { outliveStreams } from "../outlive-streams.js"
import { grpcTimeout } from "../timeout.js"
import { admits, followCertificate, tlsServerOptions, verifiedNames } from "../tls/tls.js"
import type { Listener, ListenerOptions } from "../transport.js"
import { handover } from "./handover.js"
import { serveStream, serveUnary } from "./method.js"
import { type GrpcStream, takeStreams } from "./streams.js"

/** The length of the preface of HTTP/2 (RFC 9113, section 3.4). */
const prefaceBytes = 24

/**
 * Opens the gRPC listener, served by grpc-js. Rejects as `listen` does.
 *
 * With a version of grpc-js whose server of HTTP/2 cannot be found it is served as the HTTP listener is, which speaks gRPC
 * too, only more slowly: nothing else would bound its streams.
 */
export async function openGrpcListener(options: ListenerOptions & { readiness: Readiness }): Promise<Listener> {
  // It writes headers that it cannot read to the error output, keys and cookies too.
  setLogVerbosity(logVerbosity.NONE)
  const { certificate, router, handshakeTimeoutMs, keyBudgets, maxMessageBytes, openMethods, log } = options
  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": limits.maxConcurrentStreams,
    // What channelz would count of each call, nobody could ask for.
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
    log.warn("this version of @grpc/grpc-js is not known: gRPC is served by Connect, more slowly")
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
    // The connection went in the same moment.
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
      turn: method.isOpen ? undefined : (call) => turnOf(connection, call, stream.stream),
    }
    const arrival = { method, incoming, connection, stream, share, handover: calls, openMethods }
    if (method.desc.methodKind === "unary") serveUnary(arrival)
    else serveStream(arrival)
  }
  takeStreams(http2Server, router, onStream, (stream) => connectionOf(stream)?.turnAway())
  const asksClients = certificate?.asksClients === true
  const accept = (socket: Socket) => {
    // A connection that does not say in time that it speaks HTTP/2 is closed.
    const timer = setTimeout(() => socket.bytesRead < prefaceBytes && socket.destroy(), handshakeTimeoutMs)
    socket.once("close", () => clearTimeout(timer))
    const names = socket instanceof TLSSocket && asksClients ? verifiedNames(socket) : undefined
    const remember = (session: ServerHttp2Session) => {
      const connection = new Connection(maxMessageBytes, names, keyBudgets)
      connections.set(session, connection)
      outliveStreams(session)
      closeUnneeded(session, socket, connection, options.idleTimeoutMs)
      cutSilent(session, socket)
    }
    http2Server.once("session", remember)
    injector.injectConnection(socket)
    // Whatever became of it, the next connection is somebody else's.
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
      // Tells every client to take its next calls elsewhere, and lets those active finish.
      server.tryShutdown(() => {})
    },
    closed: listener.closed,
  }
}

// grpc-js makes its server of HTTP/2 by itself, and has no public way to it.
function http2ServerOf(server: Server): Http2Server | undefined {
  const { http2Servers } = server as unknown as { http2Servers?: Map<Http2Server, unknown> }
  return http2Servers instanceof Map ? [...http2Servers.keys()][0] : undefined
}

// Messages pass grpc-js as bytes: a request that cannot be decoded is then the caller's fault by our own words.
function methodDefinition(method: DescMethod): MethodDefinition<Uint8Array, Uint8Array> {
  const asIs = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  }
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
