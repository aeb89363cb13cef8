import { type Http2Session, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from "node:http2"
import type { CallOptions } from "../../rpc/call.js"
import type { Method } from "../../rpc/router.js"
import { peerTimeout } from "../../util/peer-timeout.js"
import { cut } from "../closing/close-stream.js"
import { inTurn } from "../closing/in-turn.js"
import { superviseSession } from "../closing/supervise-session.js"
import { acquireSlot, type Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { usageOf } from "../limits/request-usage.js"
import { createAcceptor, negotiated } from "../listener/accept.js"
import { firstOf } from "../listener/content-type.js"
import { listen } from "../listener/listen.js"
import type { Listener, ListenerOptions } from "../listener/listener.js"
import { grpcTimeout } from "../listener/timeout.js"
import { serveStream, serveUnary } from "./method.js"
import { ignore, streamRouter } from "./streams.js"

/** The length of the HTTP/2 connection preface (RFC 9113, section 3.4), in bytes. */
const prefaceBytes = 24

const http2Options = {
  settings: { maxConcurrentStreams: limits.unauthenticatedStreams, maxHeaderListSize: limits.maxHeaderBytes },
  // Node would count the answers that a client has not read and refuse its further streams. The connection's budgets
  // bound them instead.
  maxSessionMemory: Number.MAX_SAFE_INTEGER,
}

/**
 * Opens the gRPC listener on Node's HTTP/2. Rejects as `listen` does. The header of a call is handled before any of its
 * request is read, so that a rejected call costs little more than its header, and is answered at once.
 */
export async function openGrpcListener(options: ListenerOptions): Promise<Listener> {
  const { router, maxMessageBytes, openMethods } = options
  const { maxDeadlineMs, messageTurn } = router
  const sessions = new Map<Http2Session, Connection>()
  const connectionOf = ({ session }: ServerHttp2Stream) => session && sessions.get(session)
  const onCall = (method: Method, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const connection = connectionOf(stream)
    // The connection was closed at the same moment.
    if (connection === undefined) return
    const exchange = { connection, closing: stream, cut: () => cut(stream) }
    const { usage, rejection } = usageOf(exchange, { method, openMethods, maxDeadlineMs })
    const callOptions: CallOptions = {
      transport: "grpc",
      timeoutMs: grpcTimeout(headers),
      header: (name) => firstOf(headers[name]),
      rejection,
      connection,
      acquireSlot: method.isOpen ? undefined : (call) => acquireSlot(connection, call, stream),
    }
    const request = {
      method,
      options: callOptions,
      connection,
      stream,
      usage,
      openMethods,
      maxMessageBytes,
      messageTurn,
    }
    if (method.desc.methodKind === "unary") serveUnary(request)
    else serveStream(request)
  }
  const onStream = streamRouter(router, options.loopbackNames, onCall, (stream) =>
    connectionOf(stream)?.countUnauthenticated(),
  )
  const acceptor = createAcceptor({ ...options, protocols: ["h2"] }, (socket, connection) => {
    if (negotiated(socket) === "http/1.1") return socket.destroy()
    // Closes a connection that does not send the HTTP/2 preface in time.
    const giveUp = () => socket.bytesRead < prefaceBytes && socket.destroy()
    const preface = peerTimeout(options.handshakeTimeoutMs, giveUp)
    socket.once("close", preface.clear)
    const session = performServerHandshake(socket, http2Options)
    sessions.set(session, connection)
    session.once("close", () => sessions.delete(session))
    superviseSession(session, socket, connection, { idleMs: options.idleTimeoutMs })
    session.on("stream", (stream, headers) => {
      stream.on("error", ignore)
      // It is reset already, which superviseSession counts, and is only ended.
      if (stream.closed) return onStream(stream, headers)
      inTurn(connection, stream, () => onStream(stream, headers))
    })
  })
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
