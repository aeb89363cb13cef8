import {
  type Http2Session,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2"
import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer, TLSSocket, Server as TlsServer } from "node:tls"
import type { CallOptions } from "../../rpc/call.js"
import type { Method } from "../../rpc/router.js"
import { cut } from "../closing/close-stream.js"
import { closeUnneeded } from "../closing/close-unneeded.js"
import { closeUnresponsive } from "../closing/close-unresponsive.js"
import { outliveStreams } from "../closing/outlive-streams.js"
import { acquireSlot, Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { usageOf } from "../limits/request-usage.js"
import { listen } from "../listener/listen.js"
import type { Listener, ListenerOptions } from "../listener/listener.js"
import { grpcTimeout } from "../listener/timeout.js"
import { admits, followCertificate, tlsServerOptions, verifiedNames } from "../tls/tls.js"
import { serveStream, serveUnary } from "./method.js"
import { streamRouter } from "./streams.js"

/** The length of the HTTP/2 connection preface (RFC 9113, section 3.4), in bytes. */
const prefaceBytes = 24

const http2Options = {
  settings: { maxConcurrentStreams: limits.maxConcurrentStreams, maxHeaderListSize: limits.maxHeaderBytes },
  // Node would count the answers that a client has not read and refuse its further streams. The connection's budgets
  // bound them instead.
  maxSessionMemory: Number.MAX_SAFE_INTEGER,
}

/**
 * Opens the gRPC listener on Node's HTTP/2. Rejects as `listen` does. The header of a call is handled before any of its
 * request is read, so that a rejected call costs little more than its header, and is answered at once.
 */
export async function openGrpcListener(options: ListenerOptions): Promise<Listener> {
  const { certificate, router, handshakeTimeoutMs, keyBudgets, maxMessageBytes, openMethods, log } = options
  const { maxDeadlineMs } = router
  const sessions = new Map<Http2Session, Connection>()
  const connectionOf = ({ session }: ServerHttp2Stream) => session && sessions.get(session)
  const onCall = (method: Method, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const connection = connectionOf(stream)
    // The connection was closed at the same moment.
    if (connection === undefined) return
    const { usage, rejection } = usageOf(stream, {
      method,
      connection,
      openMethods,
      maxDeadlineMs,
      cut: () => cut(stream),
    })
    const callOptions: CallOptions = {
      transport: "grpc",
      timeoutMs: grpcTimeout(headers),
      header: (name) => firstOf(headers[name]),
      rejection,
      connection,
      acquireSlot: method.isOpen ? undefined : (call) => acquireSlot(connection, call, stream),
    }
    const request = { method, options: callOptions, connection, stream, usage, openMethods, maxMessageBytes }
    if (method.desc.methodKind === "unary") serveUnary(request)
    else serveStream(request)
  }
  const onStream = streamRouter(router, onCall, (stream) => connectionOf(stream)?.countUnauthenticated())
  const asksClients = certificate?.asksClients === true
  const accept = (socket: Socket) => {
    // Closes a connection that does not send the HTTP/2 preface in time.
    const timer = setTimeout(() => socket.bytesRead < prefaceBytes && socket.destroy(), handshakeTimeoutMs)
    socket.once("close", () => clearTimeout(timer))
    const names = socket instanceof TLSSocket && asksClients ? verifiedNames(socket) : undefined
    const session: ServerHttp2Session = performServerHandshake(socket, http2Options)
    const connection = new Connection(maxMessageBytes, names, keyBudgets)
    sessions.set(session, connection)
    session.once("close", () => sessions.delete(session))
    // A broken connection is the client's problem. Without a listener the error would be an uncaught exception.
    session.on("error", () => {})
    outliveStreams(session)
    closeUnneeded(session, socket, connection, options.idleTimeoutMs)
    closeUnresponsive(session, socket)
    session.on("stream", onStream)
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
      for (const session of sessions.keys()) session.close()
    },
    closed: listener.closed,
  }
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
